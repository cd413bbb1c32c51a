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
					l := Blocked(sizes, fast, vec, Threads{32, warps})
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
	places(t, BlockedBut([]int{128, 64}, 1, 8, Threads{32, 8}, []Basis{{0, 16}, {64, 0}}))
	for _, c := range [][3]int{{64, 8, 4}, {128, 64, 4}, {128, 256, 8}, {64, 64, 8}, {256, 32, 8}, {64, 256, 16}} {
		l := Groups(c[0], c[1], c[2])
		places(t, l)
		for w := range 4 {
			if at := l.At(0, 0, w); at[0] != 16*w || at[1] != 0 {
				t.Errorf("%s: warp %d begins at %v", l, w, at)
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
	l := Blocked([]int{8, 256}, 1, 4, Threads{32, 4})
	for lane := range 32 {
		for r := range 4 {
			if at := l.At(r, lane, 0); at[0] != 0 || at[1] != 4*lane+r {
				t.Errorf("register %d of lane %d is %v", r, lane, at)
			}
		}
	}
}

func TestOuter(t *testing.T) {
	for _, c := range [][3]int{{128, 128, 8}, {64, 64, 8}, {64, 64, 4}, {1, 256, 8}, {16, 4, 1}, {4, 128, 2}, {2, 2, 8}, {128, 16, 4}} {
		l := Outer(c[0], c[1], Threads{32, c[2]})
		places(t, l)
		if c[0]*c[1] == 64*32*c[2] || c[0] == 64 && c[2] == 8 {
			along := map[int]bool{}
			for r := range l.Regs() {
				along[l.Offset(r, 0)] = true
			}
			if n := len(along); n*n != l.Regs() {
				t.Errorf("%s: %d rows of %d elements", l, n, l.Regs())
			}
		}
	}
}

func TestArrange(t *testing.T) {
	for _, c := range [][5]int{{128, 128, 8, 2, 4}, {128, 64, 4, 2, 2}, {16, 64, 4, 1, 4}, {64, 16, 2, 2, 1}, {16, 8, 4, 4, 1}, {128, 256, 8, 2, 4}} {
		if m, n := Arrange(c[0], c[1], c[2]); m != c[3] || n != c[4] {
			t.Errorf("%d × %d of %d warps: %d × %d; expected %d × %d", c[0], c[1], c[2], m, n, c[3], c[4])
		}
	}
}

// TestSwizzle: every element has an address of its own, and lanes that read rows of 16 bytes beside
// each other meet no bank twice, whatever the length of rows.
func TestSwizzle(t *testing.T) {
	for _, sizes := range [][]int{{64, 8}, {64, 16}, {64, 32}, {64, 64}, {16, 128}, {64, 1}, {1, 64}} {
		for fast := range 2 {
			m := Dense(sizes, fast)
			group := []Basis{{0, 0}, {0, 0}, {0, 0}}
			for i := range group {
				group[i][1-fast] = 1 << i
			}
			if sizes[1-fast] < 8 || sizes[fast] < 8 {
				group = nil
			}
			m.Swizzle(8, group)
			seen := map[int]bool{}
			for r := range sizes[0] {
				for c := range sizes[1] {
					seen[m.Of([]int{r, c})] = true
				}
			}
			if len(seen) != m.Elems {
				t.Fatalf("%v: %d addresses of %d elements", sizes, len(seen), m.Elems)
			}
			if group == nil {
				continue
			}
			banks := map[int]bool{}
			for i := range 8 {
				at := []int{0, 0}
				at[1-fast] = i
				banks[m.Of(at)/8%8] = true
			}
			if len(banks) != 8 {
				t.Errorf("%v: 8 rows lie in %d of the banks", sizes, len(banks))
			}
		}
	}
}

// TestSpans: every element has an address of its own, that of a row of so many bytes with its chunks exchanged.
func TestSpans(t *testing.T) {
	for _, c := range []struct {
		sizes      []int
		fast, span int
	}{{[]int{8, 64}, 1, 128}, {[]int{128, 64}, 0, 128}, {[]int{64, 32}, 1, 64}, {[]int{16, 256}, 1, 128}, {[]int{16, 64}, 0, 32}} {
		m := Spans(c.sizes, c.fast, 2)
		if m.Span != c.span {
			t.Fatalf("%v: rows of %d bytes", c.sizes, m.Span)
		}
		seen := map[int]bool{}
		for r := range c.sizes[0] {
			for k := range c.sizes[1] {
				x, row := k, r
				if c.fast == 0 {
					x, row = r, k
				}
				at := row*c.span + 2*x%c.span + 2*x/c.span*c.span*c.sizes[1-c.fast]
				at ^= at / 128 % (c.span / 16) * 16
				if got := 2 * m.Of([]int{r, k}); got != at {
					t.Fatalf("%v: %d, %d at %d, not %d", c.sizes, r, k, got, at)
				}
				seen[at] = true
			}
		}
		if len(seen) != m.Elems {
			t.Errorf("%v: %d addresses", c.sizes, len(seen))
		}
	}
	if Spans([]int{64, 8}, 1, 2) != nil || Spans([]int{4, 64}, 1, 2) != nil {
		t.Error("rows that are too short, or too few")
	}
}

// TestSlice: slices have each element of the layout once, where it was.
func TestSlice(t *testing.T) {
	l, o := Sums(128, 64, 2, 2), Blocked([]int{128, 64}, 1, 8, Threads{32, 4})
	fixed := l.Common(o, 3)
	if len(fixed) < 2 {
		t.Fatalf("%v are bits of registers of both", fixed)
	}
	for _, x := range []*Layout{l, o} {
		seen := map[string]bool{}
		for n := range 1 << len(fixed) {
			from := Basis{0, 0}
			for i, b := range fixed {
				if n>>i&1 != 0 {
					from[0] |= b[0]
					from[1] |= b[1]
				}
			}
			part, regs := x.Slice(fixed, from)
			for r, whole := range regs {
				for lane := range 32 {
					if at := part.At(r, lane, 1); fmt.Sprint(at) != fmt.Sprint(x.At(whole, lane, 1)) || seen[fmt.Sprint(at)] {
						t.Fatalf("%s: register %d of lane %d is %v, of the whole %v", part, r, lane, at, x.At(whole, lane, 1))
					} else {
						seen[fmt.Sprint(at)] = true
					}
				}
			}
		}
		if len(seen) != x.Regs()*32 {
			t.Fatalf("%s: %d elements", x, len(seen))
		}
	}
}
