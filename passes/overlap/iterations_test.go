package overlap

import (
	"math/rand"
	"testing"

	"ptc/ir"
)

// How many flights are under way is counted in one sweep: at each start it is what all
// flights, asked one by one, add up to.
func TestUnderWayAt(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	for range 300 {
		count, flights := 1+r.Intn(4), make([]*flight, r.Intn(12))
		for i := range flights {
			flights[i] = &flight{x: &ir.Op{Slot: ir.Slot{Ahead: r.Intn(4)}}, from: r.Intn(10), to: r.Intn(10), ahead: r.Intn(4) - 2}
		}
		got, most := underWayAt(flights, count), 0
		for i, z := range flights {
			want := 0
			for _, y := range flights {
				open := y.x.Ahead - y.ahead
				if y.from <= z.from {
					open++
				}
				if y.to <= z.from {
					open--
				}
				want += min(open, count)
			}
			if got[i] != want {
				t.Fatalf("flight %d of %d, %d instances: %d, and one by one %d", i, len(flights), count, got[i], want)
			}
			most = max(most, want)
		}
		if got := peak(flights, count); got != most {
			t.Fatalf("a peak of %d, and one by one %d", got, most)
		}
	}
}
