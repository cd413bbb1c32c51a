package fuse

import (
	"slices"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// rule says whether producer a may join consumer b, given what a's values are
// used for; unless is why not.
type rule struct {
	from, to fusion.Class
	ok       func(p *grouping, a, b *group, u use) bool
	unless   string
}

// use is where the values of a producer group are read.
type use struct {
	outside bool // by a third group, or a result of the function
	root    bool // by b's root
	rest    bool // by b's other operations
}

// rules is the whole of what fuses. A pair that is not here does not.
var rules = []rule{
	{fusion.Map, fusion.Map, sameOrRepeated, "their iteration spaces differ, or repeating the producer would cost more than it saves"},
	{fusion.Map, fusion.Row, intoRow, "the producer has neither the rows nor their kept axes, or others read it too"},
	{fusion.Map, fusion.Column, intoColumn, "the producer is not elementwise over the reduced columns, or others read it"},
	{fusion.Row, fusion.Map, rowInto, "the consumer has neither the rows nor their kept axes, or waits for other kernels too"},
	{fusion.Column, fusion.Map, func(_ *grouping, a, b *group, _ use) bool { return b.space == a.kept }, "the consumer does not have the reduced shape"},
	{fusion.Row, fusion.Row, func(_ *grouping, a, b *group, _ use) bool { return a.space == b.space && a.kept == b.kept }, "the two reductions do not have the same rows"},
	{fusion.Gemm, fusion.Map, func(_ *grouping, a, b *group, _ use) bool { return b.space == a.space }, "the consumer does not have the shape of the product"},
	{fusion.Map, fusion.Gemm, intoGemm, "others read the producer, or the product would compute it once for each block"},
	{fusion.Map, fusion.Scatter, intoRoot, "others read the producer, or its shape is not that of the operand"},
	{fusion.Scatter, fusion.Map, intoSum, "the consumer does not just add a stored value to the scattered sum"},
	{fusion.Map, fusion.Pieces, intoRoot, "others read the producer, or its shape is not that of the operand"},
	{fusion.Map, fusion.Attend, func(p *grouping, a, b *group, u use) bool { return !u.outside && a.cheap && p.attends(a, b) }, "the attention kernel cannot compute the producer by blocks"},
	{fusion.Attend, fusion.Map, func(p *grouping, a, b *group, _ use) bool { return p.attends(a, b) }, "the consumer does not have the shape of the attention's result"},
}

// union is what a rule's answer is based on: the run in which both groups are done, and the
// groups between them that b depends on.
type union struct {
	run     int
	between []*group
}

// union is one kernel of a and b, or why there is none.
func (p *grouping) union(a, b *group) (u union, why string) {
	if a.segment != b.segment || a.late != b.late && !p.delayed(a, b) {
		return u, "a collective, a task or a phase lies between them"
	}
	i := slices.IndexFunc(rules, func(r rule) bool { return r.from == a.class && r.to == b.class })
	if i < 0 {
		return u, "no rule joins " + string(a.class) + " to " + string(b.class)
	}
	reads, fusable := p.uses(a, b)
	switch {
	case !fusable:
		return u, "an operation between them cannot be in a kernel of both"
	case p.choices(a, b, reads):
		return u, "one chooses among values that the other computes"
	case !rules[i].ok(p, a, b, reads):
		return u, rules[i].unless
	case !p.joined(a, b):
		return u, "the software whose kernels these are has no such kernel"
	}
	var found, ok bool
	if u.between, found = p.outsidePath(a, b); found {
		return u, "a dependency path leaves the group and re-enters it"
	}
	if u.run, ok = p.sharedRun(a, b); !ok {
		return u, "the kernel would not be one loop nest"
	}
	return u, ""
}

// joined reports whether the target allows kernels that hold each operation of b with what it reads of a.
func (p *grouping) joined(a, b *group) bool {
	return p.join == nil || p.reads(a, b, func(o *ir.Op, arg int, _ bool) bool { return p.join(p.in.stored(o.Args[arg]).Def, o) })
}

// delayed reports whether a, which reads arguments alone, can wait for b, which is late:
// nothing is kept for that. Such is the old state in an optimizer's update.
func (p *grouping) delayed(a, b *group) bool {
	if a.late || !b.late || a.class != fusion.Map {
		return false
	}
	for _, o := range a.ops {
		for _, v := range o.Args {
			if d := p.in.source(v); d != nil && p.of[d] != a {
				return false
			}
		}
	}
	u, ok := p.uses(a, b)
	return ok && !u.outside
}

// uses says where a's values are read; false if b reads one through a view
// that needs it stored, or as a table to look up.
func (p *grouping) uses(a, b *group) (use, bool) {
	u := use{outside: a.result}
	n := 0
	ok := p.reads(a, b, func(o *ir.Op, arg int, byName bool) bool {
		n++
		if !byName || op.Of(o).Class == op.Indexed && arg == 0 && o != b.root {
			return false
		}
		u.root = u.root || o == b.root
		u.rest = u.rest || o != b.root
		return true
	})
	u.outside = u.outside || n < a.outside
	return u, ok
}

// sameOrRepeated: one space, or work over part of the space that only b needs
// and that is cheap to repeat along the other axes.
func sameOrRepeated(p *grouping, a, b *group, u use) bool {
	return a.space == b.space || a.space.in(b.space) && !u.outside && a.cheap
}

// intoRow: over the rows or the kept axes; or cheap and needed here alone.
func intoRow(p *grouping, a, b *group, u use) bool {
	return a.space == b.space || a.space == b.kept || a.space.in(b.space) && !u.outside && a.cheap
}

// intoColumn: a column kernel sweeps once and stores only what is over the
// kept axes.
func intoColumn(p *grouping, a, b *group, u use) bool {
	return !u.outside && !p.mixes(b, a) && (a.space == b.space || a.space.in(b.space) && a.cheap)
}

// mixes reports whether a is read by work that follows b's reduction while a
// is over more than the kept axes.
func (p *grouping) mixes(b, a *group) bool {
	if a.space.in(b.kept) {
		return false
	}
	after := p.after(b)
	return !p.reads(a, b, func(o *ir.Op, arg int, _ bool) bool {
		v := p.in.stored(o.Args[arg])
		return !after[o] || v != v.Def.Results[0]
	})
}

// after is the operations of g that depend on a reduction of g.
func (p *grouping) after(g *group) map[*ir.Op]bool {
	out := map[*ir.Op]bool{}
	for _, o := range g.ops {
		for _, v := range o.Args {
			if d := p.in.stored(v).Def; d != nil && p.of[d] == g {
				if out[d] || op.Of(d).Class == op.Reduction {
					out[o] = true
				}
			}
		}
	}
	return out
}

// rowInto: elementwise work over the rows or the kept axes follows. A scalar
// that also waits for other kernels stays apart: sums of many scalars, such as
// a global norm, would become a chain of kernels each waiting for the last.
func rowInto(p *grouping, a, b *group, _ use) bool {
	if b.space == a.kept && a.kept == "" {
		if slices.ContainsFunc(p.inputs(b, nil), func(from *group) bool { return from != a }) {
			return false
		}
	}
	return b.space == a.space || b.space == a.kept
}

// intoGemm: cheap work on one operand that nothing else needs (prologue), or
// work over the result that nothing but the epilogue needs or that has the
// result's space.
func intoGemm(p *grouping, a, b *group, u use) bool {
	if u.root {
		if u.outside || u.rest || !a.cheap || p.castBefore(a) {
			return false
		}
		left, right := p.feeds(a, b.root.Args[0]), p.feeds(a, b.root.Args[1])
		if left == right {
			return false
		}
		in := b.root.Args[0]
		if right {
			in = b.root.Args[1]
		}
		return a.space == spaceOf(in.Type.Axes)
	}
	return a.space == b.space || a.space.in(b.space) && !u.outside && a.cheap
}

// feeds reports whether v, a root's operand, comes from a.
func (p *grouping) feeds(a *group, v *ir.Value) bool {
	d := p.in.stored(v).Def
	return d != nil && p.of[d] == a
}

// intoRoot: work on operands of a scatter or concat that nothing else needs.
func intoRoot(p *grouping, a, b *group, u use) bool {
	return !u.outside && !u.rest && !slices.ContainsFunc(b.root.Args, func(v *ir.Value) bool {
		return p.feeds(a, v) && a.space != spaceOf(v.Type.Axes)
	})
}

// intoSum: the sum of a scatter and a stored value, to which it adds.
func intoSum(p *grouping, a, b *group, u use) bool {
	if u.outside || len(b.ops) != 1 || b.ops[0].Name != op.Add || !slices.Contains(b.ops[0].Args, a.root.Result()) {
		return false
	}
	for _, v := range b.ops[0].Args {
		t, w := a.root.Result().Type, p.in.stored(v)
		if w != v || !v.Type.SameAxes(t) {
			return false
		}
		if d := v.Def; d != nil && (p.in.ops[d].free || d != a.root && p.of[d] == a) {
			return false
		}
	}
	return b.ops[0].Args[0] != b.ops[0].Args[1]
}

func flopsPerElement(o *ir.Op) int64 {
	n := int64(max(1, o.Results[0].Type.Elems()))
	return op.Of(o).Flops(o) / n
}
