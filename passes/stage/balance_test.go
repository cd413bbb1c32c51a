package stage

import (
	"math/rand"
	"slices"
	"testing"
)

// TestBalance compares with all cuts, each tried in turn.
func TestBalance(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 4000 {
		stages := 1 + r.Intn(6)
		n := stages + r.Intn(14)
		block, outside := float64(r.Intn(5)), [2]float64{float64(r.Intn(12)), float64(r.Intn(12))}
		var want []int
		least := -1.0
		for first := 1; first <= n; first++ {
			for last := 1; last <= n; last++ {
				rest, middle := n-first-last, stages-2
				if stages == 1 && (first != n || last != 1) || stages > 1 && (rest < middle || middle == 0 && rest != 0) {
					continue
				}
				counts := []int{n}
				if stages > 1 {
					counts = spread(n, stages, first, last)
				}
				cost := 0.0
				for s, k := range counts {
					work := float64(k) * block
					if s == 0 {
						work += outside[0]
					}
					if s == stages-1 {
						work += outside[1]
					}
					cost = max(cost, work)
				}
				if least < 0 || cost < least {
					want, least = counts, cost
				}
			}
		}
		if got := balance(n, stages, block, outside); !slices.Equal(got, want) {
			t.Fatalf("%d blocks on %d stages, costs %v and %v: %v, want %v", n, stages, block, outside, got, want)
		}
	}
}
