package dtype

import (
	"math"
	"testing"

	"github.com/x448/float16"
)

var halves = []struct {
	d              DType
	mantissa, bias int
}{{BF16, 7, 127}, {F16, 10, 15}}

// value16 is the value of a 16-bit float by the definition of IEEE 754.
func value16(bits uint16, mantissa, bias int) float64 {
	exp := int(bits&0x7fff) >> mantissa
	m := float64(int(bits) & (1<<mantissa - 1))
	v := math.Ldexp(m, 1-bias-mantissa)
	switch {
	case exp == 1<<(15-mantissa)-1 && m == 0:
		v = math.Inf(1)
	case exp == 1<<(15-mantissa)-1:
		return math.NaN()
	case exp > 0:
		v = math.Ldexp(m+float64(int(1)<<mantissa), exp-bias-mantissa)
	}
	if bits&0x8000 != 0 {
		return -v
	}
	return v
}

func TestHalvesExactly(t *testing.T) {
	for _, f := range halves {
		wide, mem := make([]float32, 1), make([]byte, 2)
		for i := range 1 << 16 {
			bits := uint16(i)
			want := value16(bits, f.mantissa, f.bias)
			f.d.Widen(wide, []byte{byte(bits), byte(bits >> 8)})
			f.d.Narrow(mem, wide)
			back := le.Uint16(mem)
			got := float64(wide[0])
			if math.IsNaN(want) {
				f.d.Widen(wide, mem)
				if !math.IsNaN(got) || wide[0] == wide[0] {
					t.Fatalf("%s: %#x is %g and comes back as %#x, want NaN", f.d, bits, got, back)
				}
				continue
			}
			if got != want || math.Signbit(got) != math.Signbit(want) || back != bits {
				t.Fatalf("%s: %#x is %g, want %g, and comes back as %#x", f.d, bits, got, want, back)
			}
		}
	}
}

// Between two neighbours lies a midpoint, which goes to the even one; what is
// next to the midpoint goes to the nearer.
func TestHalvesRound(t *testing.T) {
	for _, f := range halves {
		infinity := (1<<(15-f.mantissa) - 1) << f.mantissa
		for i := range infinity {
			lo, hi := value16(uint16(i), f.mantissa, f.bias), value16(uint16(i+1), f.mantissa, f.bias)
			if i+1 == infinity { // the midpoint to the value that would follow
				hi = 2*lo - value16(uint16(i-1), f.mantissa, f.bias)
			}
			mid := float32((lo + hi) / 2)
			if float64(mid) != (lo+hi)/2 {
				continue // bf16's smallest subnormals have no midpoint in f32
			}
			in := []float32{math.Nextafter32(mid, 0), mid, math.Nextafter32(mid, float32(math.Inf(1))), -mid}
			even := uint16(i + i&1)
			want := []uint16{uint16(i), even, uint16(i + 1), even | 0x8000}
			got := make([]byte, 2*len(in))
			f.d.Narrow(got, in)
			for k := range in {
				if got := le.Uint16(got[2*k:]); got != want[k] {
					t.Fatalf("%s: %g rounds to %#x, want %#x", f.d, in[k], got, want[k])
				}
			}
		}
	}
}

// Another implementation of binary16 gives the same bits.
func TestF16AsOthers(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		if got, want := FromF16(h), float16.Frombits(h).Float32(); got != want && want == want {
			t.Fatalf("%#x is %g, want %g", h, got, want)
		}
	}
	for i := uint32(0); i < 1<<31; i += 1<<11 - 1 {
		x := math.Float32frombits(i)
		if got, want := ToF16(x), float16.Fromfloat32(x).Bits(); got != want && x == x {
			t.Fatalf("%g is %#x, want %#x", x, got, want)
		}
	}
}
