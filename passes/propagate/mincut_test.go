package propagate

import (
	"math/rand"
	"testing"
)

// TestMinimumCut: the cut of random networks is the least of all, and of the least
// ones that with the fewest nodes on the side of the source.
func TestMinimumCut(t *testing.T) {
	const inner = 6
	r := rand.New(rand.NewSource(1))
	for range 300 {
		type arc struct {
			a, b int
			c    int64
		}
		n, arcs := newNetwork(), []arc(nil)
		for range inner {
			n.node()
		}
		for range 3 * inner {
			if a, b := r.Intn(inner+2), r.Intn(inner+2); a != b {
				arcs = append(arcs, arc{a, b, int64(r.Intn(4))})
			}
		}
		for _, x := range arcs {
			n.connect(x.a, x.b, x.c)
		}
		cost := func(side func(i int) bool) (sum int64) {
			for _, x := range arcs {
				if side(x.a) && !side(x.b) {
					sum += x.c
				}
			}
			return sum
		}
		got := n.cut()
		nodes := 0
		for _, in := range got {
			if in {
				nodes++
			}
		}
		for set := range 1 << inner {
			size := 1
			side := func(i int) bool { return i == 0 || i > 1 && set>>(i-2)&1 == 1 }
			for i := range inner {
				size += set >> i & 1
			}
			least, mine := cost(side), cost(func(i int) bool { return got[i] })
			if least < mine || least == mine && size < nodes {
				t.Fatalf("a cut of %d with %d nodes; there is one of %d with %d: %v", mine, nodes, least, size, arcs)
			}
		}
	}
}
