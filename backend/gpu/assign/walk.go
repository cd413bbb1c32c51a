package assign

import (
	"fmt"
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/tile"
	"ptc/ir/op"
)

// reductions are the kinds that fold a tile along some of its dimensions.
var reductions = []tile.Kind{op.ReduceSum, op.ReduceMax}

// Effect reports whether operations of kind k are lowered where they stand. Stores are deferred to the next effect, and
// all others are computed where they are demanded.
func Effect(k tile.Kind) bool {
	switch k {
	case tile.Scatter, tile.Dot, tile.For, tile.If, tile.Wait:
		return true
	}
	return slices.Contains(reductions, k)
}

// demanded reports whether operations of kind k are computed in the layout that a reader demands.
func demanded(k tile.Kind) bool {
	switch k {
	case tile.Load, tile.Copy, tile.Const, tile.Index, tile.First, tile.Last, tile.Repeat, tile.Random:
		return true
	}
	return elementwise.Known(k)
}

// inside are the blocks of code of a loop or an if.
func inside(o *tile.Op) []*tile.Block {
	switch {
	case o.Loop != nil:
		return []*tile.Block{o.Loop.Body}
	case o.Kind == tile.If:
		return []*tile.Block{o.Then, o.Else}
	}
	return nil
}

// Scatters reports whether o is a loop or an if that adds to memory.
func Scatters(o *tile.Op) bool {
	return slices.ContainsFunc(inside(o), func(body *tile.Block) bool {
		return slices.ContainsFunc(body.Ops, func(x *tile.Op) bool { return x.Kind == tile.Scatter || Scatters(x) })
	})
}

// writes reports whether a block of operations writes to memory, which copies ahead may read.
func writes(body *tile.Block) bool {
	return slices.ContainsFunc(body.Ops, func(o *tile.Op) bool {
		return o.Kind == tile.Store || o.Kind == tile.Scatter || slices.ContainsFunc(inside(o), writes)
	})
}

// dots are the products of a block of operations, and of those that it has under conditions.
func dots(body *tile.Block) (out []*tile.Op) {
	for _, o := range body.Ops {
		switch o.Kind {
		case tile.Dot:
			out = append(out, o)
		case tile.If:
			out = append(append(out, dots(o.Then)...), dots(o.Else)...)
		}
	}
	return out
}

// defined adds the tiles that a block of operations makes, and those in it.
func defined(body *tile.Block, to map[*tile.Value]bool) {
	for _, o := range body.Ops {
		for _, v := range o.Results {
			to[v] = true
		}
		for _, b := range inside(o) {
			defined(b, to)
		}
	}
}

// madeOf reports whether x is v, or is computed of it and as many others element by element.
func madeOf(x, v *tile.Value) bool {
	if x == v || x.Def == nil || len(x.Type.Dims) != len(v.Type.Dims) || !elementwise.Known(x.Def.Kind) {
		return x == v
	}
	return slices.ContainsFunc(x.Def.Args, func(a *tile.Value) bool { return madeOf(a, v) })
}

// uses reports whether v is computed of one of some values; not, of those seen before.
func uses(v *tile.Value, some []*tile.Value, seen map[*tile.Value]bool) bool {
	if slices.Contains(some, v) {
		return true
	}
	if seen[v] || v.Def == nil {
		return false
	}
	seen[v] = true
	return slices.ContainsFunc(v.Def.Args, func(a *tile.Value) bool { return uses(a, some, seen) })
}

// neighbours is the range of an access along which elements are next to each other, or nil.
func neighbours(o *tile.Op) *tile.Range {
	for i, a := range o.View.Axes {
		if a.Stride == 1 && len(o.At[i].Terms) == 1 && o.At[i].Terms[0].Coef == 1 {
			if r := o.At[i].Terms[0].Range; r != nil && r.Size > 1 {
				return r
			}
		}
	}
	return nil
}

// summedRanges are the ranges that o sums over, but for positions.
func summedRanges(o *tile.Op) (over []*tile.Range) {
	for _, r := range o.Over {
		if r.Size > 1 {
			over = append(over, r)
		}
	}
	return over
}

// folds reports whether a loop in body reduces what it multiplies.
func folds(body *tile.Block) bool {
	return slices.ContainsFunc(body.Ops, func(o *tile.Op) bool {
		if o.Loop == nil {
			return false
		}
		return folds(o.Loop.Body) || slices.ContainsFunc(o.Loop.Body.Ops, func(r *tile.Op) bool {
			return slices.Contains(reductions, r.Kind) && slices.ContainsFunc(dots(o.Loop.Body), func(d *tile.Op) bool { return madeOf(r.Args[0], d.Result()) })
		})
	})
}

// reduced are the ranges that the reductions of a block of operations are along; none where there is
// a product, whose sums have a layout of their own.
func reduced(body *tile.Block) map[*tile.Range]bool {
	out := map[*tile.Range]bool{}
	var visit func(body *tile.Block) bool
	visit = func(body *tile.Block) bool {
		return !slices.ContainsFunc(body.Ops, func(o *tile.Op) bool {
			if slices.Contains(reductions, o.Kind) {
				for _, r := range o.Over {
					out[r] = true
				}
			}
			return o.Kind == tile.Dot || slices.ContainsFunc(inside(o), func(b *tile.Block) bool { return !visit(b) })
		})
	}
	if !visit(body) {
		return nil
	}
	return out
}

// Tasks is how many tasks a phase has.
func Tasks(ph *tile.Phase) int64 {
	n := int64(1)
	for _, r := range ph.Grid {
		n *= r.Blocks()
	}
	return n
}

// once is an error where a scatter's tile goes to several places: its elements would be added in no order.
func once(o *tile.Op) error {
	for _, at := range o.At {
		if slices.ContainsFunc(at.Terms, func(t tile.Term) bool { return t.Value != nil && len(t.Value.Type.Dims) > 0 }) {
			return fmt.Errorf("found a scatter whose tile goes to several places; it has no code for GPUs")
		}
	}
	return nil
}
