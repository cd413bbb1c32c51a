package layout

import (
	"fmt"
	"testing"
)

// places is how often each element has a place, and fails where one has none.
func places(t *testing.T, l *Layout) map[string]int {
	t.Helper()
	out := map[string]int{}
	for w := range l.Warps() {
		for lane := range 32 {
			for r := range l.Regs() {
				out[fmt.Sprint(l.At(r, lane, w))]++
			}
		}
	}
	n := 1
	for _, s := range l.Sizes {
		n *= s
	}
	if len(out) != n {
		t.Fatalf("%s: %d of %d elements have places", l, len(out), n)
	}
	each := l.Warps() * 32 * l.Regs() / n
	for at, k := range out {
		if k != each {
			t.Fatalf("%s: %s has %d places; expected %d", l, at, k, each)
		}
	}
	return out
}

func TestComplete(t *testing.T) {
	for _, sizes := range [][]int{{}, {1}, {4}, {8, 128}, {128, 8}, {1, 1024}, {2, 4, 64}, {256, 1}} {
		for fast := range max(1, len(sizes)) {
			for _, vec := range []int{1, 4, 8} {
				for _, warps := range []int{1, 4, 8} {
					l := Blocked(sizes, fast, vec, warps)
					places(t, l)
					for i := range sizes {
						keep := make([]bool, len(sizes))
						for j := range keep {
							keep[j] = j != i
						}
						places(t, l.Project(keep))
					}
				}
			}
		}
	}
	for _, c := range [][4]int{{16, 8, 1, 1}, {64, 64, 4, 1}, {128, 128, 2, 4}, {128, 256, 8, 1}, {64, 8, 4, 1}, {64, 32, 1, 4}} {
		places(t, Sums(c[0], c[1], c[2], c[3]))
	}
}

// TestSums looks at the fragment of mma.m16n8 as the manual has it.
func TestSums(t *testing.T) {
	l := Sums(16, 8, 1, 1)
	for lane := range 32 {
		for i := range 4 {
			row, col := lane/4, lane%4*2+i%2
			if i >= 2 {
				row += 8
			}
			if at := l.At(i, lane, 0); at[0] != row || at[1] != col {
				t.Errorf("register %d of lane %d is %v; expected row %d, column %d", i, lane, at, row, col)
			}
		}
	}
}

// TestBlocked: neighbours in memory are in the registers of a lane, and lanes next to each
// other go on there.
func TestBlocked(t *testing.T) {
	l := Blocked([]int{8, 256}, 1, 4, 4)
	for lane := range 32 {
		for r := range 4 {
			if at := l.At(r, lane, 0); at[0] != 0 || at[1] != 4*lane+r {
				t.Errorf("register %d of lane %d is %v", r, lane, at)
			}
		}
	}
}
