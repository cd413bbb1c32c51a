package lower

import (
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
)

// code emits what depends on the thread alone.
type code struct{ *thread.Builder }

func (c code) i32(n int64) *thread.Value { return c.ConstInt(kernel.Scalar(kernel.I32), n) }

// both holds where x and y do, of which nil always does.
func (c code) both(x, y *thread.Value) *thread.Value {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return c.And(x, y)
}

// lead holds for the thread that starts the copies of tiles.
func (c code) lead() *thread.Value { return c.Eq(c.Special(thread.Thread), c.i32(0)) }

// once holds for one of the threads that have the same elements; nil where none do.
func (c code) once(at *layout.Layout) *thread.Value {
	lane, warp := at.Copies()
	var out *thread.Value
	for _, x := range []struct {
		n    *thread.Value
		mask int
	}{{c.Special(thread.Lane), lane}, {c.Special(thread.Warp), warp}} {
		if x.mask != 0 {
			out = c.both(out, c.Eq(c.And(x.n, c.i32(int64(x.mask))), c.i32(0)))
		}
	}
	return out
}

// coordinate is the position of a thread's register 0 along dimension d of a layout, from the
// first one of the block; registers add to it what [layout.Layout.Offset] says.
func (c code) coordinate(at *layout.Layout, d int) *thread.Value {
	sum := c.i32(0)
	if at.From != nil {
		sum = c.i32(int64(at.From[d]))
	}
	lane, warp := c.Special(thread.Lane), c.Special(thread.Warp)
	for _, x := range []struct {
		n     *thread.Value
		bases []layout.Basis
	}{{lane, at.Lane}, {warp, at.Warp}} {
		for i := 0; i < len(x.bases); {
			if x.bases[i][d] == 0 {
				i++
				continue
			}
			// Bits that go on as the number does are taken together.
			n := 1
			for i+n < len(x.bases) && x.bases[i+n][d] == x.bases[i][d]<<n {
				n++
			}
			bits := x.n
			if i > 0 {
				bits = c.LShr(bits, c.i32(int64(i)))
			}
			bits = c.And(bits, c.i32(1<<n-1))
			sum = c.Add(sum, c.Mul(bits, c.i32(int64(x.bases[i][d]))))
			i += n
		}
	}
	return sum
}

// linear is the exclusive or of those of the bases whose bit is set in n; nil where all are 0. Bits
// of n that go on as those of the bases do are taken together.
func (c code) linear(n *thread.Value, bases []int) *thread.Value {
	var sum *thread.Value
	left := append([]int(nil), bases...)
	for i := range left {
		for s := 0; left[i]>>s != 0; s++ {
			if left[i]>>s&1 == 0 {
				continue
			}
			run := 0
			for i+run < len(left) && left[i+run]>>(s+run)&1 != 0 {
				left[i+run] ^= 1 << (s + run)
				run++
			}
			part := c.And(c.LShr(n, c.i32(int64(i))), c.i32(1<<run-1))
			part = c.Mul(part, c.i32(1<<s))
			if sum != nil {
				part = c.Xor(sum, part)
			}
			sum = part
		}
	}
	return sum
}

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
