package precision

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// Rows that travel: tokens to the experts that they have chosen, and back.

// isCombined: a weighted sum of rows that were gathered and that a contraction depends on, as of the outputs of the
// experts that a token has chosen, or of the gradients that come back from them: in all but form a contraction over the
// choices, the axes of the index. It notes which values are such rows.
func (p *plan) isCombined(o *ir.Op) bool {
	v := o.Results[0]
	if !p.inside[o] || !v.Type.DType.IsFloat() || !p.leads[v] {
		return false
	}
	var by []string
	for _, a := range o.Args {
		if by == nil && a.Type.Rank() >= v.Type.Rank() {
			by = p.rows[a]
		}
	}
	switch op.Of(o).Class {
	case op.Indexed:
		if isGather(o) && o.Args[0].Def != nil {
			p.rows[v] = o.Args[1].Type.Names()
		}
	case op.Elementwise, op.Movement:
		if len(p.readers[v]) == 1 {
			p.rows[v] = by
		}
	case op.Reduction:
		other := func(a string) bool { return !slices.Contains(by, a) }
		return by != nil && o.Name == op.ReduceSum && !slices.ContainsFunc(o.Attrs.Names("over"), other)
	}
	return false
}

// scatters: what o makes is, weighted or moved, rows that are scattered and that a contraction depends on, as the
// gradients that go to the experts that a token has chosen: the reverse of what isCombined adds up.
func (p *plan) scatters(o *ir.Op) bool {
	for o.Name != op.ScatterAdd {
		if c := op.Of(o).Class; c != op.Elementwise && c != op.Movement || len(p.readers[o.Results[0]]) != 1 {
			return false
		}
		next := p.readers[o.Results[0]][0]
		if next.Name == op.ScatterAdd && next.Args[0] != o.Results[0] {
			return false
		}
		o = next
	}
	return p.leads[o.Result()]
}

// isMoved: v, moved or not, is what rows are gathered of that a contraction
// depends on, or is moved and read by a contraction then.
func (p *plan) isMoved(v *ir.Value) bool {
	moved, known := p.moved[v]
	if !known {
		moved = p.findMoved(v)
		p.moved[v] = moved
	}
	return moved
}

func (p *plan) findMoved(v *ir.Value) bool {
	for _, r := range p.readers[v] {
		if !p.inside[r] {
			continue
		}
		if isGather(r) && r.Args[0] == v && p.leads[r.Result()] || op.Of(r).Class == op.Movement && p.reaches(r.Result()) {
			return true
		}
	}
	return false
}

func (p *plan) reaches(v *ir.Value) bool {
	return p.isMoved(v) || slices.ContainsFunc(p.readers[v], func(r *ir.Op) bool {
		return p.inside[r] && op.Of(r).Class == op.Contraction
	})
}
