package lower

import (
	"slices"

	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// position is where in the ranges of a program the code is that is being written.
type position struct {
	b     *kernel.Builder
	wide  int64                        // lanes of a vector of f32; all other types follow
	first map[*tile.Range]kernel.Index // first position of the present block
	n     map[*tile.Range]int64        // its existing positions
	at    map[*tile.Range]coord        // where a sweep is
	part  map[*tile.Range]int64        // which vector, or which position, of an unrolled block
	lanes int                          // of the vector range at present; 1 outside of a sweep
	mask  *kernel.Value                // lanes that exist, or nil for all
}

// coord is a position along a range: lane l is at idx, plus l on the vector range.
type coord struct {
	idx kernel.Index
	vec bool
}

// number puts each range of the grid at the block that the task's number says.
func (l *position) number(grid []*tile.Range) {
	many := slices.DeleteFunc(slices.Clone(grid), func(r *tile.Range) bool { return r.Blocks() == 1 })
	for _, r := range grid {
		l.enter(r, kernel.Int(0))
	}
	if len(many) == 0 {
		return
	}
	t := l.b.Value(l.b.Task())
	for i, r := range slices.Backward(many) {
		block := t
		if i > 0 {
			n := l.b.ConstInt(t.Type, r.Blocks())
			block, t = l.b.Rem(t, n), l.b.Div(t, n)
		}
		l.enter(r, kernel.Of(block))
	}
}

// enter puts r at the block that is visited at iteration n.
func (l *position) enter(r *tile.Range, n kernel.Index) {
	if r.Reversed {
		n = kernel.Int(r.Blocks() - 1).Sub(n)
	}
	l.first[r], l.n[r] = n.Mul(r.Size), min(r.Size, r.Extent)
}

// put puts the computation at positions of ranges, of those that are given.
func (l *position) put(ranges []*tile.Range, at []kernel.Index) {
	for i, r := range ranges[:min(len(ranges), len(at))] {
		l.at[r] = coord{idx: at[i]}
	}
}

func (l *position) leave(dims []*tile.Range) {
	for _, r := range dims {
		delete(l.at, r)
	}
}

// where is the present position along r.
func (l *position) where(r *tile.Range) coord {
	if c, ok := l.at[r]; ok {
		return c
	}
	return coord{idx: l.first[r]}
}

// spread adds what distinguishes the lanes of position c to x, an i32 scalar.
func (l *position) spread(x *kernel.Value, c coord) *kernel.Value {
	if c.vec {
		x = l.b.Add(l.b.Splat(x, l.lanes), l.b.Iota(l.lanes))
	}
	return x
}

// affine is x without what it looks up, at the present position: where the first lane
// is, and the distance between lanes.
func (l *position) affine(x tile.Affine) (first kernel.Index, step int64) {
	first = kernel.Int(x.Const)
	for _, t := range x.Terms {
		if t.Range == nil {
			continue
		}
		c := l.where(t.Range)
		first = first.Add(c.idx.Mul(t.Coef))
		if c.vec {
			step += t.Coef
		}
	}
	return first, step
}

// parts is how many vectors, or positions, g has along r.
func (l *position) parts(g *registers, r *tile.Range) int64 {
	if r == g.vec {
		return (l.n[r] + l.wide - 1) / l.wide
	}
	return l.n[r]
}

// chainsOf is how many chains a reduction along r has.
func (l *position) chainsOf(r *tile.Range) int64 {
	if l.n[r] >= 2*chains*l.wide {
		return chains
	}
	return 1
}
