package nvptx

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"ptc/backend/gpu/emu"
	"ptc/backend/gpu/ptx"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
)

// TestFloat8: every float of eight bits is read, and numbers around each and their ties are rounded and stored, as
// internal/dtype has it, by instructions and by arithmetic on bits, as many at a time as an access has.
func TestFloat8(t *testing.T) {
	const n = 2048
	for _, e := range []kernel.Elem{kernel.F8E4M3, kernel.F8E5M2} {
		d := e.DType()
		xs := []float32{0, float32(math.Copysign(0, -1)), math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 0x1p-149}
		for code := range uint32(0x7e) {
			lo, hi := d.FromBits(code), d.FromBits(code+1)
			for _, x := range []float32{lo, (lo + hi) / 2} {
				xs = append(xs, x, -x, math.Nextafter32(x, 0), math.Nextafter32(x, math.MaxFloat32))
			}
		}
		for r := rand.New(rand.NewPCG(1, 8)); len(xs) < n; {
			xs = append(xs, math.Float32frombits(r.Uint32()))
		}
		codes, wide := make([]byte, n), make([]byte, 4*n)
		for i, x := range xs {
			codes[i] = byte(i)
			binary.LittleEndian.PutUint32(wide[4*i:], math.Float32bits(x))
		}
		for _, hardware := range []bool{false, true} {
			for _, each := range []int{1, 2, 4, 8, 16} {
				b, end := Machine{FP8: hardware}.Begin("k", 32)
				from, to, in, out := b.Param("from", e), b.Param("to", kernel.F32), b.Param("in", kernel.F32), b.Param("out", e)
				number := b.Value(kernel.Of(b.Convert(b.Special(thread.Block), kernel.I64)).Mul(32).Add(kernel.Of(b.Convert(b.Special(thread.Thread), kernel.I64))))
				at := func(p thread.Pointer, k int) thread.Pointer {
					return b.At(p, kernel.Of(number).Mul(int64(each)).Plus(int64(k)))
				}
				for k, v := range b.LoadGlobal(at(from, 0), thread.Access{N: each}) {
					b.StoreGlobal(at(to, k), thread.Access{}, []*thread.Value{v})
				}
				var vs []*thread.Value
				for k := range each {
					v := b.LoadGlobal(at(in, k), thread.Access{})[0]
					if k%2 == 1 {
						v = b.Round(v, e) // changes nothing
					}
					vs = append(vs, v)
				}
				b.StoreGlobal(at(out, 0), thread.Access{N: each}, vs)
				entry, _, err := end()
				if err != nil {
					t.Fatal(err)
				}
				p, err := emu.Load(entry)
				if err != nil {
					t.Fatal(err)
				}
				dev := &emu.Device{Options: emu.Options{Check: true, Steps: 1 << 20}}
				read, stored := make([]byte, 4*n), make([]byte, n)
				args := []emu.Arg{emu.Word(dev.Map(codes)), emu.Word(dev.Map(read)), emu.Word(dev.Map(wide)), emu.Word(dev.Map(stored))}
				if err := dev.Run(p, emu.Launch{Grid: n / 32 / each, Args: args}); err != nil {
					t.Fatalf("%s, %d at a time: %v\n%s", e, each, err, &ptx.Module{Entries: []*ptx.Entry{entry}})
				}
				for i, x := range xs {
					got, want := math.Float32frombits(binary.LittleEndian.Uint32(read[4*i:])), d.FromBits(uint32(codes[i]))
					if got != want && want == want || math.Signbit(float64(got)) != math.Signbit(float64(want)) && want == want || (got != got) != (want != want) {
						t.Fatalf("%s, %d at a time, hardware %v: %#x is %g, want %g", e, each, hardware, codes[i], got, want)
					}
					if want := d.ToBits(x); x == x && uint32(stored[i]) != want || x != x && d.FromBits(uint32(stored[i])) == d.FromBits(uint32(stored[i])) {
						t.Fatalf("%s, %d at a time, hardware %v: %g becomes %#x, want %#x", e, each, hardware, x, stored[i], want)
					}
				}
			}
		}
	}
}
