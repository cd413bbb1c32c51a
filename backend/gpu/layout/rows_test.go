package layout

import "testing"

// TestRows: every element has a place, and a warp has all of a row.
func TestRows(t *testing.T) {
	for _, c := range []struct{ rows, cols, warps int }{{8, 1024, 8}, {8, 128, 4}, {64, 128, 8}, {4, 256, 4}} {
		l := Rows([]int{c.rows, c.cols}, 1, 4, Threads{32, c.warps})
		of := map[[2]int]int{} // warp of each element
		for w := range c.warps {
			for lane := range 32 {
				for r := range l.Regs() {
					at := l.At(r, lane, w)
					of[[2]int{at[0], at[1]}] = w
				}
			}
		}
		if len(of) != c.rows*c.cols {
			t.Errorf("%+v: %d elements have places", c, len(of))
		}
		for at, w := range of {
			if of[[2]int{at[0], 0}] != w {
				t.Fatalf("%+v: row %d is in warps %d and %d", c, at[0], of[[2]int{at[0], 0}], w)
			}
		}
	}
}
