package dtype

import (
	"math"
	"sort"
	"testing"
)

var fp8 = []struct {
	d       DType
	max     float64
	nan     func(code int) bool
	inf     int     // the code of infinity, 0 where there is none
	least   float64 // the smallest subnormal number
	special map[int]float64
}{
	// Micikevicius et al., table 1.
	{F8E4M3, 448, func(c int) bool { return c&0x7f == 0x7f }, 0, 0x1p-9,
		map[int]float64{0x7e: 448, 0x08: 0x1p-6, 0x07: 0.875 * 0x1p-6, 0x38: 1, 0xb8: -1, 0x00: 0}},
	{F8E5M2, 57344, func(c int) bool { return c&0x7f > 0x7c }, 0x7c, 0x1p-16,
		map[int]float64{0x7b: 57344, 0x04: 0x1p-14, 0x03: 0.75 * 0x1p-14, 0x3c: 1, 0xbc: -1, 0x00: 0}},
}

// value8 is the value of a code by the definition: sign, exponent with its bias, mantissa.
func value8(d DType, code int) float64 {
	r := rows[d]
	bias := 1<<(r.exponent-1) - 1
	e, m := code&0x7f>>r.mantissa, float64(code&(1<<r.mantissa-1))/float64(int(1)<<r.mantissa)
	v := math.Pow(2, float64(e-bias)) * (1 + m)
	if e == 0 {
		v = math.Pow(2, float64(1-bias)) * m
	}
	return math.Copysign(v, 1-float64(code>>7)*2)
}

func TestFloat8Exactly(t *testing.T) {
	for _, f := range fp8 {
		if got := f.d.Max(); got != f.max {
			t.Errorf("%s goes to %g, want %g", f.d, got, f.max)
		}
		exponent, mantissa := f.d.Masks()
		for code := range 256 {
			want := value8(f.d, code)
			got, wide, back := f.d.FromBits(uint32(code)), make([]float32, 1), make([]byte, 1)
			f.d.Widen(wide, []byte{byte(code)})
			f.d.Narrow(back, wide)
			finite := uint64(code)&exponent != exponent
			switch {
			case f.nan(code):
				if got == got || wide[0] == wide[0] || !f.nan(int(back[0])) || finite || uint64(code)&mantissa == 0 {
					t.Errorf("%s: %#x is %g and comes back as %#x, want NaN", f.d, code, got, back)
				}
			case f.inf != 0 && code&0x7f == f.inf:
				if !math.IsInf(float64(got), 1-2*(code>>7)) || back[0] != byte(code-1) || finite || uint64(code)&mantissa != 0 {
					t.Errorf("%s: %#x is %g and comes back as %#x, want infinity, and the largest number", f.d, code, got, back)
				}
			case float64(got) != want || got != wide[0] || math.Signbit(float64(got)) != math.Signbit(want) || int(back[0]) != code || !finite:
				t.Errorf("%s: %#x is %g, want %g, and comes back as %#x", f.d, code, got, want, back)
			}
		}
		for code, want := range f.special {
			if got := f.d.FromBits(uint32(code)); float64(got) != want {
				t.Errorf("%s: %#x is %g, want %g", f.d, code, got, want)
			}
		}
		if got := f.d.FromBits(1); float64(got) != f.least {
			t.Errorf("%s: the least number is %g", f.d, got)
		}
	}
}

// nearest8 is the code nearest to x, of two the even one, found by looking at all.
func nearest8(d DType, max, x float64) int {
	n := sort.Search(0x7f, func(c int) bool { return value8(d, c) >= x || value8(d, c) >= max })
	hi := value8(d, n)
	if x >= hi || n == 0 {
		return n
	}
	lo := value8(d, n-1)
	switch {
	case x-lo < hi-x, x-lo == hi-x && n%2 == 1:
		return n - 1
	}
	return n
}

func TestFloat8Rounds(t *testing.T) {
	for _, f := range fp8 {
		check := func(x float32) {
			t.Helper()
			want := nearest8(f.d, f.max, math.Abs(float64(x)))
			if math.Signbit(float64(x)) {
				want |= 0x80
			}
			if got := f.d.ToBits(x); int(got) != want {
				t.Fatalf("%s: %g is %#x, want %#x", f.d, x, got, want)
			}
		}
		for code := range 0x7f {
			lo, hi := value8(f.d, code), value8(f.d, code+1)
			for _, v := range []float64{lo, (lo + hi) / 2} {
				x := float32(v)
				for _, y := range []float32{x, math.Nextafter32(x, 0), math.Nextafter32(x, float32(math.Inf(1)))} {
					check(y)
					check(-y)
				}
			}
		}
		for bits := uint32(0); bits < 0x7f800000; bits += 9973 { // a stride over all floats
			check(math.Float32frombits(bits))
		}
		check(math.MaxFloat32)
		check(float32(math.Inf(-1)))
		if got := f.d.ToBits(float32(math.NaN())); !f.nan(int(got)) {
			t.Errorf("%s: NaN is %#x", f.d, got)
		}
	}
}
