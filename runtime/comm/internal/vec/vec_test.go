package vec

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"ptc/runtime/comm"
)

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
	for _, f := range []struct {
		h              half
		mantissa, bias int
	}{{bf16, 7, 127}, {f16, 10, 15}} {
		wide, back := make([]float32, 1), make([]uint16, 1)
		for i := range 1 << 16 {
			bits := uint16(i)
			want := value16(bits, f.mantissa, f.bias)
			f.h.widen(wide, []uint16{bits})
			f.h.narrow(back, wide)
			got := float64(wide[0])
			if math.IsNaN(want) {
				f.h.widen(wide, back)
				if !math.IsNaN(got) || wide[0] == wide[0] {
					t.Fatalf("format %d: %#x is %g and comes back as %#x, want NaN", f.h, bits, got, back[0])
				}
				continue
			}
			if got != want || math.Signbit(got) != math.Signbit(want) || back[0] != bits {
				t.Fatalf("format %d: %#x is %g, want %g, and comes back as %#x", f.h, bits, got, want, back[0])
			}
		}
	}
}

// Between two neighbours lies a midpoint, which goes to the even one; what is
// next to the midpoint goes to the nearer.
func TestHalvesRound(t *testing.T) {
	for _, f := range []struct {
		h              half
		mantissa, bias int
	}{{bf16, 7, 127}, {f16, 10, 15}} {
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
			got := make([]uint16, len(in))
			f.h.narrow(got, in)
			for k := range in {
				if got[k] != want[k] {
					t.Fatalf("format %d: %g rounds to %#x, want %#x", f.h, in[k], got[k], want[k])
				}
			}
		}
	}
}

func floats(v ...float32) []byte {
	b := make([]byte, 4*len(v))
	copy(view[float32](b), v)
	return b
}

func TestMaximumOfNaN(t *testing.T) {
	nan := float32(math.NaN())
	dst := floats(0, 0, 0, 0)
	Reduce(comm.F32, comm.Max, dst, [][]byte{floats(nan, 1, 3, -2), floats(1, nan, 2, -1), floats(0, 0, 1, -3)})
	if v := view[float32](dst); v[0] == v[0] || v[1] == v[1] || v[2] != 3 || v[3] != -1 {
		t.Errorf("the maxima are %v", v)
	}
}

// Every number of sources, destinations that are one of them, every length around
// the unrolling and the blocks.
func TestSumInOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 3, 4, 5, block - 1, block, 2*block + 7} {
		for k := 1; k <= 17; k++ {
			srcs := make([][]byte, k)
			for i := range srcs {
				srcs[i] = make([]byte, 4*n)
				for j := range view[float32](srcs[i]) {
					view[float32](srcs[i])[j] = float32(rng.NormFloat64())
				}
			}
			want := make([]float32, n)
			for j := range want {
				for i := range srcs {
					if i == 0 {
						want[j] = view[float32](srcs[0])[j]
					} else {
						want[j] += view[float32](srcs[i])[j]
					}
				}
			}
			dst := make([]byte, 4*n)
			if at := rng.IntN(k + 1); at < k {
				dst = srcs[at]
			}
			Reduce(comm.F32, comm.Sum, dst, srcs)
			if !bytes.Equal(dst, floats(want...)) {
				t.Fatalf("%d sources of %d elements: %v, want %v", k, n, view[float32](dst), want)
			}
		}
	}
}

func TestCopyBetweenViews(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		a, b, c := 1+rng.IntN(4), 1+rng.IntN(4), 1+rng.IntN(4) // a slice of a·b·c bytes
		parts := 1 + rng.IntN(3)
		src := Part{Outer: a, Inner: b * c, Parts: parts, Index: rng.IntN(parts)}
		dst := Part{Outer: a * b, Inner: c, Parts: parts, Index: rng.IntN(parts)}
		n := src.Bytes()
		src.Buf, dst.Buf = make([]byte, n*parts), make([]byte, n*parts)
		for i := range src.Buf {
			src.Buf[i] = byte(1 + i)
		}
		want := bytes.Clone(dst.Buf)
		lo := rng.IntN(n + 1)
		hi := lo + rng.IntN(n-lo+1)
		place := func(p Part, i int) int { return (i/p.Inner*p.Parts+p.Index)*p.Inner + i%p.Inner }
		for i := lo; i < hi; i++ {
			want[place(dst, i)] = src.Buf[place(src, i)]
		}
		Copy(dst, src, lo, hi)
		if !bytes.Equal(dst.Buf, want) {
			t.Fatalf("%+v to %+v, bytes %d to %d: %v, want %v", src, dst, lo, hi, dst.Buf, want)
		}
	}
}
