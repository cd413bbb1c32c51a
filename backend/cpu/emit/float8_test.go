package emit

import (
	"encoding/binary"
	"math"
	"math/rand"
	"testing"

	"ptc/backend/kernel"
)

// fp8 is a kernel that widens every code of e, narrows n numbers in vectors of lanes,
// and rounds them in registers.
func fp8(t *testing.T, e kernel.Elem, lanes int, n int64) *kernel.Kernel {
	b := kernel.New("float8", 1)
	in, wide := b.Arg("in", e, 256, kernel.Read), b.Arg("wide", kernel.F32, 256, kernel.Write)
	from, out := b.Arg("from", kernel.F32, n, kernel.Read), b.Arg("out", e, n, kernel.Write)
	round := b.Arg("round", kernel.F32, n, kernel.Write)
	b.For(kernel.Span(256).By(int64(lanes)), func(i kernel.Index) { b.Store(wide.At(i), b.Load(in.At(i), lanes)) })
	b.For(kernel.Span(n).By(int64(lanes)), func(i kernel.Index) {
		x := b.Load(from.At(i), lanes)
		b.Store(out.At(i), x)
		b.Store(round.At(i), b.Round(x, e))
	})
	return build(t, b)
}

// TestFloat8 converts every float of one byte to f32, and numbers around each of them
// and their ties back, on each target that this host runs, as internal/dtype does,
// which is tested against the definition.
func TestFloat8(t *testing.T) {
	all, runnable := targets(t)
	in := make([]byte, 256)
	for i := range in {
		in[i] = byte(i)
	}
	for _, e := range []kernel.Elem{kernel.F8E4M3, kernel.F8E5M2} {
		d := e.DType()
		xs := []float32{0, float32(math.Copysign(0, -1)), math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 0x1p-149, 0x1.fffffep-127}
		for code := range uint32(0x7e) {
			lo, hi := d.FromBits(code), d.FromBits(code+1)
			for _, x := range []float32{lo, (lo + hi) / 2} {
				xs = append(xs, x, -x, math.Nextafter32(x, 0), math.Nextafter32(x, math.MaxFloat32))
			}
		}
		for r := rand.New(rand.NewSource(1)); len(xs) < 4096; {
			xs = append(xs, math.Float32frombits(r.Uint32()))
		}
		from := make([]byte, 0, 4*len(xs))
		for _, x := range xs {
			from = binary.LittleEndian.AppendUint32(from, math.Float32bits(x))
		}
		for _, tgt := range all {
			for _, lanes := range []int{16, 8, 4, 1} {
				k := fp8(t, e, lanes, int64(len(xs)))
				obj := compile(t, tgt, k)
				if !contains(runnable, tgt.Name) {
					continue
				}
				got := run(t, image(t, obj), k, [][]byte{in, make([]byte, 4*256), from, make([]byte, len(xs)), make([]byte, 4*len(xs))}, 0, 1)
				for i := range 256 {
					w := math.Float32frombits(binary.LittleEndian.Uint32(got[1][4*i:]))
					if want := d.FromBits(uint32(i)); !sameFloat(float64(w), float64(want)) {
						t.Fatalf("%s, %d lanes: %s %#x is %g, want %g", tgt.Name, lanes, e, i, w, want)
					}
				}
				for i, x := range xs {
					want := d.ToBits(x)
					if h := got[3][i]; uint32(h) != want && x == x {
						t.Fatalf("%s, %d lanes: %g becomes %s %#x, want %#x", tgt.Name, lanes, x, e, h, want)
					}
					r := math.Float32frombits(binary.LittleEndian.Uint32(got[4][4*i:]))
					if stored := d.FromBits(uint32(got[3][i])); !sameFloat(float64(r), float64(stored)) || (x != x) != (r != r) {
						t.Fatalf("%s, %d lanes: %g is rounded to %g in a register, and stored as %g", tgt.Name, lanes, x, r, stored)
					}
				}
			}
		}
	}
}
