package emit

import (
	"encoding/binary"
	"math"
	"math/rand"
	"sort"
	"testing"

	"ptc/backend/kernel"
)

// halfValue is what IEEE 754-2008, section 3.4, says that a binary16 is: of sign
// s, exponent e and mantissa m, (-1)^s·2^(e-15)·(1+m/1024), with e = 0 for
// (-1)^s·2^-14·m/1024, and e = 31 for infinities and NaN.
func halfValue(h uint16) float64 {
	e, m := int(h>>10)&31, float64(h&1023)/1024
	x := math.Ldexp(1+m, e-15)
	switch {
	case e == 0:
		x = math.Ldexp(m, -14)
	case e == 31 && m == 0:
		x = math.Inf(1)
	case e == 31:
		return math.NaN()
	}
	if h>>15 == 1 {
		x = -x
	}
	return x
}

// nearestHalf rounds to nearest, ties to even, by searching the numbers that there
// are. Overflow is from halfway between the largest and the next that there would
// be (section 4.3.1).
func nearestHalf(f float32) uint16 {
	sign := uint16(math.Float32bits(f) >> 31 << 15)
	x := math.Abs(float64(f))
	const inf = 0x7c00
	n := uint16(sort.Search(inf, func(i int) bool { return halfValue(uint16(i)) >= x }))
	above := halfValue(n)
	if n == inf {
		above = 65536
	}
	switch {
	case n == 0 || x == above:
	case x >= 65536:
		n = inf
	default:
		below := halfValue(n - 1)
		if d := (x - below) - (above - x); d < 0 || d == 0 && (n-1)%2 == 0 {
			n--
		}
	}
	return sign | n
}

// halves is a kernel that widens every f16 and narrows as many f32 in vectors of
// lanes, and rounds them in registers.
func halves(t *testing.T, lanes int, n int64) *kernel.Kernel {
	b := kernel.New("half", 1)
	in, wide := b.Arg("in", kernel.F16, n, kernel.Read), b.Arg("wide", kernel.F32, n, kernel.Write)
	from, out := b.Arg("from", kernel.F32, n, kernel.Read), b.Arg("out", kernel.F16, n, kernel.Write)
	round := b.Arg("round", kernel.F32, n, kernel.Write)
	b.For(kernel.Span(n).By(int64(lanes)), func(i kernel.Index) {
		b.Store(wide.At(i), b.Load(in.At(i), lanes))
		x := b.Load(from.At(i), lanes)
		b.Store(out.At(i), x)
		b.Store(round.At(i), b.Round(x, kernel.F16))
	})
	return build(t, b)
}

// singles are numbers to narrow: random bits, numbers around every half and its
// ties, subnormals of either type, and what overflows.
func singles(r *rand.Rand, n int) []float32 {
	xs := []float32{0, float32(math.Copysign(0, -1)), 65504, 65519.996, 65520, 65536, math.MaxFloat32, float32(math.Inf(1)), float32(math.Inf(-1)),
		float32(math.NaN()), math.Float32frombits(0xff800001), math.Float32frombits(0x7f800001), 0x1p-24, 0x1p-25, 0x1.000002p-25, 0x1p-26,
		0x1p-149, -0x1p-149, 0x1.fffffep-127, 0x1p-14, 0x1.ff8p-15, 0x1.ffcp-15, 0x1.ffe002p-15}
	for len(xs) < n {
		a, b := halfValue(uint16(r.Intn(0x7c00))), 0.0
		switch r.Intn(5) {
		case 0:
			b = float64(math.Float32frombits(r.Uint32()))
		case 1:
			b = math.Ldexp(r.NormFloat64(), -14-r.Intn(12))
		default: // a tie, or a number beside one
			next := halfValue(nearestHalf(float32(a)) + 1)
			if math.IsInf(next, 0) {
				next = 65536
			}
			b = (a + next) / 2
		}
		x := float32(b)
		if k := r.Intn(3); k > 0 && x != 0 {
			x = math.Float32frombits(math.Float32bits(x) + uint32(k*2-3))
		}
		if r.Intn(2) == 0 {
			x = -x
		}
		xs = append(xs, x)
	}
	return xs
}

// TestHalves converts every f16 to f32, and f32 to f16, on each target that this
// host runs, in vectors and one by one, with instructions and without.
func TestHalves(t *testing.T) {
	const n = 1 << 16
	all, runnable := targets(t)
	in := make([]byte, 2*n)
	for i := range n {
		binary.LittleEndian.PutUint16(in[2*i:], uint16(i))
	}
	for _, tgt := range all {
		for _, lanes := range []int{16, 8, 4, 1} {
			k := halves(t, lanes, n)
			obj := compile(t, tgt, k) // of any target: needs no symbol such as __truncsfhf2
			if !contains(runnable, tgt.Name) {
				continue
			}
			img := image(t, obj)
			for seed := range int64(3) {
				xs := singles(rand.New(rand.NewSource(seed)), n)
				from := make([]byte, 0, 4*n)
				for _, x := range xs {
					from = binary.LittleEndian.AppendUint32(from, math.Float32bits(x))
				}
				got := run(t, img, k, [][]byte{in, make([]byte, 4*n), from, make([]byte, 2*n), make([]byte, 4*n)}, 0, 1)
				compareHalves(t, tgt.Name, lanes, xs, got)
				if t.Failed() {
					return
				}
			}
		}
	}
}

func compareHalves(t *testing.T, target string, lanes int, xs []float32, got [][]byte) {
	t.Helper()
	f32 := func(b []byte, i int) float32 {
		return math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	bad := 0
	fail := func(format string, args ...any) {
		if bad++; bad <= 5 {
			t.Errorf("%s, %d lanes: "+format, append([]any{target, lanes}, args...)...)
		}
	}
	for i, x := range xs {
		want := halfValue(uint16(i))
		if w := f32(got[1], i); !sameFloat(float64(w), want) {
			fail("%#04x is %g, want %g", i, w, want)
		}
		h := binary.LittleEndian.Uint16(got[3][2*i:])
		if x != x {
			if !math.IsNaN(halfValue(h)) {
				fail("NaN becomes %#04x", h)
			}
		} else if near := nearestHalf(x); h != near {
			fail("%g (%#08x) becomes %#04x, want %#04x", x, math.Float32bits(x), h, near)
		}
		if r := f32(got[4], i); !sameFloat(float64(r), halfValue(h)) {
			fail("%g is rounded to %g in a register, and stored as %g", x, r, halfValue(h))
		}
	}
}

// sameFloat compares bits, except of NaN.
func sameFloat(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}
