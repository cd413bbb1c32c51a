package nest

import (
	"math"

	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// reducing generates reductions over the same axes.
type reducing struct {
	*gen
	kept, reduced []fusion.Loop
}

func newReducing(g *gen) *reducing {
	return &reducing{g, g.k.Loops(g.k.Kept()), g.k.Loops(g.k.Reduce)}
}

// fold makes the results of reds known: at once where the schedule does not tile the reduced axes,
// else by loops that carry them. then is generated behind each block.
func (x *reducing) fold(reds []*ir.Op, then func()) {
	out := make([]*tile.Value, len(reds))
	if x.s.Over > 0 && len(x.reduced) > 0 {
		out = x.loops(reds, nil, then)
	} else {
		for i, o := range reds {
			over := x.along(o.Args[0], x.reduced)
			if out[i] = x.over(o.Args[0], over); len(over) > 0 {
				out[i] = x.b.Reduce(tile.Kind(o.Name), out[i], over...)
			}
		}
		then()
	}
	for i, o := range reds {
		x.know(o.Result(), out[i])
	}
}

// partial makes the results of reds known, each folded from as many partial results as part has,
// which loops carry side by side.
func (x *reducing) partial(reds []*ir.Op, part *tile.Range) {
	for i, v := range x.loops(reds, part, func() {}) {
		x.know(reds[i].Result(), x.b.Reduce(tile.Kind(reds[i].Name), v, part))
	}
}

// loops carries the results of reds over blocks of the reduced axes. With part, the innermost
// axis is in as many interleaved parts as that has, each with a result of its own.
func (x *reducing) loops(reds []*ir.Op, part *tile.Range, then func()) []*tile.Value {
	n := len(x.reduced) - 1
	last, side := x.reduced[n], []*tile.Range(nil)
	if part != nil {
		last.Size, side = last.Size/part.Extent, []*tile.Range{part}
	}
	acc := make([]*tile.Value, len(reds))
	for i, o := range reds {
		acc[i] = x.b.Const(o.Result().Type.DType, identity(o), append(side, x.along(o.Result(), x.kept)...)...)
	}
	return x.nest(x.reduced[:n], acc, func(acc []*tile.Value) []*tile.Value {
		r := block(last, x.s.Over)
		return x.loop(r, int(x.s.Stages), acc, func(acc []*tile.Value) []*tile.Value {
			x.set(last, r)
			if part != nil {
				x.at[last.Name()] = tile.At(r).Times(part.Extent).Add(tile.At(part))
			}
			out := make([]*tile.Value, len(acc))
			for i, o := range reds {
				v := x.over(o.Args[0], append([]*tile.Range{r}, side...))
				if r.Size > 1 {
					v = x.b.Reduce(tile.Kind(o.Name), v, r)
				}
				out[i] = x.b.Compute(folds[o.Name].combine, acc[i], v)
			}
			then()
			return out
		})
	})
}

// folds says how reductions combine elements, and what they start from.
var folds = map[string]struct {
	combine tile.Kind
	least   bool
}{
	op.ReduceSum: {op.Add, false},
	op.ReduceMax: {op.Max, true},
}

// identity is what a reduction starts from.
func identity(o *ir.Op) float64 {
	d := o.Result().Type.DType
	switch {
	case !folds[o.Name].least:
		return 0
	case d.IsFloat():
		return math.Inf(-1)
	}
	lo, _ := d.Bounds()
	return lo
}
