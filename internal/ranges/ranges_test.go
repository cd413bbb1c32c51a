package ranges

import (
	"math/rand"
	"slices"
	"testing"
)

// TestMap compares a map with an array, and counts its runs.
func TestMap(t *testing.T) {
	const size = 700
	for seed := range int64(20) {
		r := rand.New(rand.NewSource(seed))
		var m Map[int]
		var plain [size]int
		for step := range 3000 {
			lo := r.Intn(size)
			hi := min(size, lo+r.Intn(1+[]int{2, 10, size}[r.Intn(3)]))
			switch r.Intn(3) {
			case 0:
				v := r.Intn(4)
				m.Set(int64(lo), int64(hi), v)
				for i := lo; i < hi; i++ {
					plain[i] = v
				}
			case 1:
				m.Update(int64(lo), int64(hi), func(v int) int { return (v + 1) % 3 })
				for i := lo; i < hi; i++ {
					plain[i] = (plain[i] + 1) % 3
				}
			}
			any, all := false, true
			for i := lo; i < hi; i++ {
				any, all = any || plain[i] != 0, all && plain[i] == plain[lo]
			}
			if got := m.Any(int64(lo), int64(hi)); got != any {
				t.Fatalf("seed %d, step %d: something in %d..%d is %v", seed, step, lo, hi, got)
			}
			if v := plain[lo]; v != 0 && m.All(int64(lo), int64(hi), v) != all {
				t.Fatalf("seed %d, step %d: all of %d..%d is not %v", seed, step, lo, hi, all)
			}
		}
		var got [size]int
		last := int64(-1)
		m.Each(0, size, func(lo, hi int64, v int) bool {
			if lo < last || lo >= hi || v == 0 {
				t.Fatalf("seed %d: run %d..%d of %d behind %d", seed, lo, hi, v, last)
			}
			last = hi
			for i := lo; i < hi; i++ {
				got[i] = v
			}
			return true
		})
		if got != plain {
			t.Fatalf("seed %d: %v, not %v", seed, got, plain)
		}
	}
}

func TestIndex(t *testing.T) {
	for seed := range int64(50) {
		r := rand.New(rand.NewSource(seed))
		spans := make([]Span, r.Intn(60))
		for i := range spans {
			lo := r.Int63n(200)
			spans[i] = Span{lo, lo + r.Int63n(30)}
		}
		x := NewIndex(spans)
		for range 200 {
			lo := r.Int63n(200)
			s := Span{lo, lo + r.Int63n(40)}
			var want []int
			for i, u := range spans {
				if u.Meets(s) {
					want = append(want, i)
				}
			}
			if got := x.Meeting(s, nil); !slices.Equal(got, want) {
				t.Fatalf("seed %d: %v meet %v, not %v", seed, got, s, want)
			}
		}
	}
}
