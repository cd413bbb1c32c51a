package nest

import (
	"slices"

	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/fusion"
)

// row is reductions that hold the contiguous axis: for every block of rows, one stage
// per sweep.
//
//	grid (outer…, rows) { stage 0: reduce, store what is known; stage 1 …; store }
//
// Where the schedule leaves the reduced axes whole, a stage is an operation on a tile of
// whole rows, and how often that is swept is the lowering's. Otherwise it is a loop over
// blocks, which computes again what earlier stages computed.
func row(g *gen) {
	s := &stages{reducing: newReducing(g)}
	g.mem.declare(slices.Concat(s.kept, s.reduced))
	for _, o := range g.k.F.Ops {
		if _, view := g.k.Views[o.Result()]; !view {
			s.n = max(s.n, g.k.Phase[o]+1)
		}
	}
	var whole []*tile.Range
	if g.s.Over == 0 {
		whole = g.whole(s.reduced)
	}
	inBlocks(g, s.kept, whole, s.block)
}

// stages generates the sweeps over a block of rows.
type stages struct {
	*reducing
	n int
}

func (s *stages) block() {
	for phase := range s.n {
		s.stage(phase)
	}
	s.storeWhere(func(v *ir.Value) bool { return s.s.Over == 0 || !s.full(v) })
}

// full reports whether a result is over the rows, not the kept axes.
func (s *stages) full(v *ir.Value) bool { return fusion.SameSpace(v.Type.Axes, s.k.Space) }

// stage generates the reductions of a phase, and, where rows are swept block by block,
// stores the results over rows that are known in it.
func (s *stages) stage(phase int) {
	var reds []*ir.Op
	for _, o := range s.k.F.Ops {
		if s.k.Part[o] == fusion.PartRoot && s.k.Phase[o] == phase {
			reds = append(reds, o)
		}
	}
	due := func(v *ir.Value) bool { return s.full(v) && s.k.Phase[v.Def] == phase }
	stores := false
	for _, r := range s.k.F.Results {
		stores = stores || s.s.Over != 0 && due(r.Value)
	}
	if len(reds) == 0 && !stores {
		return
	}
	s.fold(reds, func() {
		if stores {
			s.storeWhere(due)
		}
	})
}
