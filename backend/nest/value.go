package nest

import (
	"fmt"
	"math"
	"slices"

	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// value is v at the present positions.
func (g *gen) value(v *ir.Value) *tile.Value { return g.find(v).x }

func (g *gen) find(v *ir.Value) known {
	for i := len(g.scopes) - 1; i >= 0; i-- {
		if x, ok := g.scopes[i][v]; ok {
			return x
		}
	}
	x := g.compute(v)
	g.scopes[x.depth-1][v] = x
	return x
}

// know records that v is x in the present block.
func (g *gen) know(v *ir.Value, x *tile.Value) {
	g.scopes[len(g.scopes)-1][v] = known{x, g.b.Depth()}
}

// place emits in the outermost block that has all of the operands and ranges.
func (g *gen) place(operands []known, ranges []*tile.Range, emit func(x []*tile.Value) *tile.Value) known {
	depth := g.b.Around(ranges...)
	x := make([]*tile.Value, len(operands))
	for i, o := range operands {
		depth, x[i] = max(depth, o.depth), o.x
	}
	out := known{depth: depth}
	g.b.Hoist(depth, func() { out.x = emit(x) })
	return out
}

func (g *gen) compute(v *ir.Value) known {
	if other := g.instead[v]; other != nil {
		return other()
	}
	if _, ok := g.k.Views[v]; ok {
		view := g.mem.view(v)
		return g.load(view, g.indices(view), nil)
	}
	o := v.Def
	switch {
	case o.Name == op.Const:
		return g.constant(v.Type.DType, o.Attrs.Float("value", 0))
	case o.Name == op.Index:
		return g.index(o)
	case o.Name == op.Coordinate:
		return g.coordinate(o.Attrs.Names("over"))
	case o.Name == op.Random:
		return g.random(o)
	case o.Name == op.Gather:
		return g.gather(o)
	case op.Has(o, op.ByName):
		return g.find(o.Args[0])
	case o.Name == op.Cast:
		return g.place(g.operands(o), nil, func(x []*tile.Value) *tile.Value { return g.b.Cast(x[0], v.Type.DType) })
	case op.Of(o).Class == op.Elementwise:
		return g.apply(tile.Kind(o.Name), g.operands(o)...)
	}
	panic(fmt.Sprintf("nest: %s is not computed element by element", o.Name))
}

func (g *gen) operands(o *ir.Op) []known {
	out := make([]known, len(o.Args))
	for i, a := range o.Args {
		out[i] = g.find(a)
	}
	return out
}

// apply is an elementwise operation.
func (g *gen) apply(k tile.Kind, operands ...known) known {
	return g.place(operands, nil, func(x []*tile.Value) *tile.Value { return g.b.Compute(k, x...) })
}

func (g *gen) constant(d ir.DType, c float64) known {
	key := number{d, math.Float64bits(c)}
	if x, ok := g.constants[key]; ok {
		return x
	}
	x := g.place(nil, nil, func([]*tile.Value) *tile.Value { return g.b.Const(d, c) })
	g.constants[key] = x
	return x
}

// load reads a view at the indices, which may look positions up in the operands.
func (g *gen) load(v *tile.View, at []tile.Affine, looked []known) known {
	return g.place(looked, rangesOf(at), func([]*tile.Value) *tile.Value { return g.b.Load(v, at...) })
}

func rangesOf(at []tile.Affine) []*tile.Range {
	var out []*tile.Range
	for _, x := range at {
		for _, t := range x.Terms {
			if t.Range != nil {
				out = append(out, t.Range)
			}
		}
	}
	return out
}

// over is v with all of the ranges as dimensions: what a sum over them, or a product,
// needs. A value that is repeated along an axis lacks it otherwise.
func (g *gen) over(v *ir.Value, ranges []*tile.Range) *tile.Value {
	k := g.find(v)
	for _, r := range ranges {
		if r.Size > 1 && !k.x.Type.Has(r) {
			k = g.place([]known{k}, []*tile.Range{r}, func(x []*tile.Value) *tile.Value { return g.b.Repeat(x[0], r) })
		}
	}
	return k.x
}

// along are the ranges of those of loops that v has, which the computation is at.
func (g *gen) along(v *ir.Value, loops []fusion.Loop) []*tile.Range {
	return g.present(slices.DeleteFunc(slices.Clone(loops), func(l fusion.Loop) bool { return !v.Type.Has(l.Last()) }))
}

// present are the ranges that the computation is at along loops.
func (g *gen) present(loops []fusion.Loop) []*tile.Range {
	var out []*tile.Range
	for _, l := range loops {
		out = append(out, rangesOf([]tile.Affine{g.at[l.Name()]})...)
	}
	return out
}
