package factor

import (
	"maps"
	"slices"

	"ptc/ir"
)

// Past is what a propagation chose for each operation. One of the same function with the same
// arguments, by the same policies and others in addition, chooses the same wherever operands
// are in the same states, for the same reasons, and no other policy speaks about the operation.
type Past struct {
	ops      []chosen // by the place of an operation
	policies int
	known    int // operations of which an earlier past told the choice
}

// chosen is the choice for one operation, and why. It is final where it depends on its operands
// as they are in the function alone.
type chosen struct {
	final             bool
	operands, results []ir.Type
	from              Origins
	required          []string
}

// Speaker is a policy that speaks about few operations.
type Speaker interface {
	// Speaks reports whether it says anything of o that others do not.
	Speaks(o *ir.Op) bool
}

// Past is that of this propagation.
func (x *Flow) Past() *Past { return &x.past }

// Known is for how many operations the earlier propagation told the choice.
func (x *Flow) Known() int { return x.past.known }

// remember prepares for the past of this propagation, and for the earlier one: arguments and
// what is free are as they were.
func (x *Flow) remember() {
	x.past = Past{ops: make([]chosen, len(x.Func.Ops)), policies: len(x.Policies)}
	if x.Earlier == nil {
		return
	}
	most := 0
	for _, a := range x.Func.Args {
		most = max(most, a.Value.ID)
	}
	for _, o := range x.Func.Ops {
		for _, r := range o.Results {
			most = max(most, r.ID)
		}
	}
	x.asBefore = make([]bool, most+1)
	for _, a := range x.Func.Args {
		x.asBefore[a.Value.ID] = true
	}
	for o := range x.free {
		x.asBefore[o.Results[0].ID] = true
	}
}

// known is the choice of the past for the operation at a place, if it is the same now; had are
// the operands before policies brought some into other states.
func (x *Flow) known(o *ir.Op, at int, had []*ir.Value) (chosen, bool) {
	if x.Earlier == nil || !x.Earlier.ops[at].final || !slices.Equal(o.Args, had) {
		return chosen{}, false
	}
	if slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return !x.asBefore[v.ID] }) {
		return chosen{}, false
	}
	for _, p := range x.Policies[x.Earlier.policies:] {
		if s, ok := p.(Speaker); !ok || s.Speaks(o) {
			return chosen{}, false
		}
	}
	return x.Earlier.ops[at], true
}

// choose is the choice for an operation, and whether it is that of the past.
func (x *Flow) choose(o *ir.Op, at int, had []*ir.Value) (c chosen, known bool) {
	if c, known = x.known(o, at, had); !known {
		a := x.assign(o)
		c = chosen{final: slices.Equal(o.Args, had), from: a.from, operands: make([]ir.Type, len(o.Args)), results: make([]ir.Type, len(o.Results))}
		for i := range o.Args {
			c.operands[i] = a.operand(x.Mesh, o, i)
		}
		for i := range o.Results {
			c.results[i] = a.result(x.Mesh, o, i)
		}
		if len(o.Results) > 0 {
			c.required = x.required[o.Results[0].ID]
		}
		return c, known
	}
	x.past.known++
	if len(c.required) > 0 {
		x.required[o.Results[0].ID] = c.required
	}
	return c, known
}

// note keeps the choice for the operation at a place, and whether its results are as they
// were in the past: of a choice that is known they are.
func (x *Flow) note(o *ir.Op, at int, c chosen, known bool) {
	x.past.ops[at] = c
	if x.Earlier == nil {
		return
	}
	old := x.Earlier.ops[at]
	for i, r := range o.Results {
		x.asBefore[r.ID] = known || i < len(old.results) && old.results[i].Equal(r.Type) && maps.Equal(old.from, c.from)
	}
}
