package nest

import (
	"math"

	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// row is reductions that hold the contiguous axis: for every block of rows, one stage
// per sweep.
//
//	grid (outer…, rows) { stage 0: reduce, store what is known; stage 1 …; store }
//
// Where the schedule leaves the reduced axes whole, a stage is an operation on a tile of
// whole rows, and how often that is swept is the lowering's. Otherwise it is a loop over
// blocks, which computes again what earlier stages computed.
func (g *gen) row() {
	kept, reduced := g.k.Kept(), g.k.Reduce
	p, r := g.loops(kept), g.loops(reduced)
	g.declare()
	grid, loops := g.outer(p)
	s := &stages{gen: g, kept: p, reduced: r}
	for _, o := range g.k.F.Ops {
		if _, view := g.k.Views[o.Result()]; !view {
			s.n = max(s.n, g.k.Phase[o]+1)
		}
	}
	var whole []*tile.Range
	if g.s.Over == 0 {
		whole = g.whole(r)
	}
	g.blocks(grid, loops, whole, s.block)
}

// stages generates the sweeps over a block of rows.
type stages struct {
	*gen
	kept, reduced []fusion.Loop
	n             int
}

func (s *stages) block() {
	for phase := range s.n {
		s.stage(phase)
	}
	s.storeWhere(func(v *ir.Value) bool { return s.s.Over == 0 || !s.full(v) })
}

// full reports whether a result is over the rows, not the kept axes.
func (s *stages) full(v *ir.Value) bool { return fusion.SameSpace(v.Type.Axes, s.k.Space) }

// storeWhere computes some results, and then stores them.
func (s *stages) storeWhere(is func(v *ir.Value) bool) {
	out := make([]*tile.Value, len(s.k.F.Results))
	for i, r := range s.k.F.Results {
		if is(r.Value) {
			out[i] = s.value(r.Value)
		}
	}
	for i, x := range out {
		if x != nil {
			s.store(i, x)
		}
	}
}

func (s *stages) phaseOf(v *ir.Value) int {
	if v.Def == nil {
		return 0
	}
	return s.k.Phase[v.Def]
}

// stage generates the reductions of a phase, and, where rows are swept block by block,
// stores the results over rows that are known in it.
func (s *stages) stage(phase int) {
	var reds []*ir.Op
	for _, o := range s.k.F.Ops {
		if s.k.Part[o] == fusion.PartRoot && s.k.Phase[o] == phase {
			reds = append(reds, o)
		}
	}
	due := func(v *ir.Value) bool { return s.full(v) && s.phaseOf(v) == phase }
	stores := false
	for _, r := range s.k.F.Results {
		stores = stores || s.s.Over != 0 && due(r.Value)
	}
	if len(reds) == 0 && !stores {
		return
	}
	then := func() {
		if stores {
			s.storeWhere(due)
		}
	}
	for i, x := range s.fold(reds, s.kept, s.reduced, then) {
		s.know(reds[i].Result(), x)
	}
}

// fold reduces the operands of reds over dims: at once where the schedule leaves those
// whole, else in loops that carry the results over the dimensions in kept. then is
// generated behind each block.
func (g *gen) fold(reds []*ir.Op, kept, dims []fusion.Loop, then func()) []*tile.Value {
	if g.s.Over == 0 || len(dims) == 0 {
		out := make([]*tile.Value, len(reds))
		for i, o := range reds {
			over := g.along(o.Args[0], dims)
			if out[i] = g.over(o.Args[0], over); len(over) > 0 {
				out[i] = g.b.Reduce(tile.Kind(o.Name), out[i], over...)
			}
		}
		then()
		return out
	}
	acc := make([]*tile.Value, len(reds))
	for i, o := range reds {
		d := o.Result().Type.DType
		acc[i] = g.b.Const(d, identity(o), g.along(o.Result(), kept)...)
	}
	n := len(dims) - 1
	return g.nest(dims[:n], acc, func(acc []*tile.Value) []*tile.Value {
		r := block(dims[n], g.s.Over)
		return g.loop(r, int(g.s.Stages), acc, func(acc []*tile.Value) []*tile.Value {
			g.set(dims[n], r)
			out := make([]*tile.Value, len(acc))
			for i, o := range reds {
				x := g.over(o.Args[0], []*tile.Range{r})
				if r.Size > 1 {
					x = g.b.Reduce(tile.Kind(o.Name), x, r)
				}
				out[i] = g.b.Compute(folds[o.Name].combine, acc[i], x)
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
