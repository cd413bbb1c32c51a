package lower

import (
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
)

// cursor is the block that each range is at.
type cursor struct {
	code
	sizes *assign.Tiles
	first map[*tile.Range]*thread.Value // the first position of a range's block, i32
}

// enter puts r at its n-th block.
func (c *cursor) enter(r *tile.Range, n *thread.Value) {
	if r.Reversed {
		n = c.Sub(c.i32(r.Blocks()-1), n)
	}
	c.first[r] = c.Mul(n, c.i32(r.Size))
}

// locate enters the blocks of the grid's ranges that task number n of a phase has.
func (c *cursor) locate(ph *assign.Phase, n *thread.Value) {
	left := assign.Tasks(ph.Tile)
	grid := ph.Tile.Grid
	if s := ph.Program.Schedule; s.Raster == schedule.Grouped && s.Group > 0 && len(grid) > 1 {
		rows, cols := grid[len(grid)-2], grid[len(grid)-1]
		grid = grid[:len(grid)-2]
		n = c.grouped(rows, cols, s.Group, n)
		left /= rows.Blocks() * cols.Blocks()
	}
	for i := len(grid) - 1; i >= 0; i-- {
		r := grid[i]
		at := n
		if left /= r.Blocks(); left > 1 {
			size := c.i32(r.Blocks())
			at, n = c.Rem(n, size), c.Div(n, size)
		}
		if r.Blocks() == 1 {
			at = c.i32(0)
		}
		c.enter(r, at)
	}
}

// grouped enters the block of rows and columns that task n has, whose neighbours share as much of what they read
// as fits side by side: so many blocks of rows take turns, then columns, then come the next rows. It
// gives what is left of n.
func (c *cursor) grouped(rows, cols *tile.Range, group int64, n *thread.Value) *thread.Value {
	plane := c.i32(rows.Blocks() * cols.Blocks())
	at, rest := c.Rem(n, plane), c.Div(n, plane)
	each := c.i32(group * cols.Blocks())
	first := c.Mul(c.Div(at, each), c.i32(group))
	there := c.Min(c.i32(group), c.Sub(c.i32(rows.Blocks()), first)) // fewer rows in the last group
	at = c.Rem(at, each)
	c.enter(rows, c.Add(first, c.Rem(at, there)))
	c.enter(cols, c.Div(at, there))
	return rest
}

// last is the last existing position of r.
func (c *cursor) last(r *tile.Range) *thread.Value {
	end := c.Add(c.first[r], c.i32(r.Size))
	if r.Extent%r.Size != 0 {
		end = c.Min(end, c.i32(r.Extent))
	}
	return c.Sub(end, c.i32(1))
}

// at is the position along r of register n of a layout of dims.
func (c *cursor) at(r *tile.Range, dims []*tile.Range, at *layout.Layout, n int) *thread.Value {
	for d, x := range dims {
		if x == r {
			return c.Add(c.Add(c.first[r], c.coordinate(at, d)), c.i32(int64(at.Offset(n, d))))
		}
	}
	return c.first[r]
}

// position is the index of a view's axis at the first positions of the present blocks.
func (c *cursor) position(at tile.Affine) *thread.Value {
	sum := c.i32(at.Const)
	for _, t := range at.Terms {
		sum = c.Add(sum, c.Mul(c.first[t.Range], c.i32(t.Coef)))
	}
	return sum
}

// limit is how many positions of r there are, where it is not always as many as layouts have.
func (c *cursor) limit(r *tile.Range) *thread.Value {
	switch limited, tail := c.sizes.Limited(r); {
	case !limited:
		return nil
	case !tail:
		return c.i32(r.Size)
	}
	return c.Min(c.i32(r.Size), c.Sub(c.i32(r.Extent), c.first[r]))
}

// exists is, for each register, whether its element does; nil where all do.
func (c *cursor) exists(at *layout.Layout, dims []*tile.Range) func(r int) *thread.Value {
	type bound struct {
		d     int
		limit *thread.Value // of the coordinate
	}
	var bounds []bound
	for d, r := range dims {
		if limit := c.limit(r); limit != nil {
			bounds = append(bounds, bound{d, c.Sub(limit, c.coordinate(at, d))})
		}
	}
	if len(bounds) == 0 {
		return nil
	}
	return func(r int) (all *thread.Value) {
		for _, x := range bounds {
			all = c.both(all, c.Lt(c.i32(int64(at.Offset(r, x.d))), x.limit))
		}
		return all
	}
}
