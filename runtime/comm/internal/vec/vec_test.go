package vec

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"ptc/internal/collective"
	"ptc/internal/dtype"
)

func floats(v ...float32) []byte {
	b := make([]byte, 4*len(v))
	copy(view[float32](b), v)
	return b
}

func TestMaximumOfNaN(t *testing.T) {
	nan := float32(math.NaN())
	dst := floats(0, 0, 0, 0)
	Reduce(dtype.F32, collective.Max, dst, [][]byte{floats(nan, 1, 3, -2), floats(1, nan, 2, -1), floats(0, 0, 1, -3)})
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
			Reduce(dtype.F32, collective.Sum, dst, srcs)
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
