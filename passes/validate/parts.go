package validate

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// A contraction may be done in parts: both operands have a contracted axis a in two, of
// which the major one, part, stays and is summed behind.
//
//	reduce_sum part ( dot_a ( split_a x, split_a y ) )  =  dot_a ( x, y )
//
// So a sum over an axis of a contraction's result has the number of the contraction of
// what is split, where its operands are split so. What is elementwise is done on a split
// value as on the whole.

// contraction is the number of node n of a contraction. Its attributes are what it sums
// over alone: the rest is in its type. One with a result narrower than its sum is the
// cast of that.
func (t *Table) contraction(n node, attrs ir.Attrs) Number {
	n.over = sorted(attrs.Names("over"))
	n.attrs = ir.A("over", n.over).String()
	d := n.typ.DType
	n.typ = n.typ.Clone()
	n.typ.DType = d.Acc()
	t.say(&n)
	sum := t.number(n)
	if d == n.typ.DType {
		return sum
	}
	c := node{op: op.Cast, attrs: ir.A("to", ir.Name(d.String())).String(), args: []Number{sum}, typ: n.typ.Clone()}
	c.typ.DType = d
	t.say(&c)
	return t.number(c)
}

// unparted is the number of the contraction that x, summed over the axis part, is; -1
// where it is none in parts.
func (t *Table) unparted(x Number, part string) Number {
	n := t.nodes[x]
	if d := op.Lookup(n.op); d == nil || d.Class != op.Contraction || slices.Contains(n.over, part) {
		return -1
	}
	for _, axis := range n.over {
		left := t.unsplit(n.args[0], part, axis)
		right := t.unsplit(n.args[1], part, axis)
		if left < 0 || right < 0 || !t.nodes[n.args[0]].typ.Has(part) || !t.nodes[n.args[1]].typ.Has(part) {
			continue
		}
		whole := n
		whole.typ = n.typ.Drop(part)
		whole.args = []Number{left, right}
		t.say(&whole)
		return t.number(whole)
	}
	return -1
}

// unsplit is the number of that of which x is the split of axis, with part as its major
// axis; -1 where it is none.
func (t *Table) unsplit(x Number, part, axis string) Number {
	n := t.nodes[x]
	if !n.typ.Has(part) {
		if n.typ.Has(axis) {
			return -1 // the same for every part
		}
		return x
	}
	d := op.Lookup(n.op)
	if d == nil || !n.typ.Has(axis) {
		return -1
	}
	parts, each := n.typ.Size(part), n.typ.Size(axis)
	if n.op == op.Split {
		into := ir.Sizes{{Name: part, N: parts}, {Name: axis, N: each}}
		if n.attrs == ir.A("axis", ir.Name(axis), "into", into).String() {
			return n.args[0]
		}
		return -1
	}
	if d.Class != op.Elementwise {
		return -1
	}
	whole := node{op: n.op, attrs: n.attrs, index: n.index, typ: resized(n.typ.Drop(part), axis, parts*each)}
	for _, a := range n.args {
		a := t.unsplit(a, part, axis)
		if a < 0 {
			return -1
		}
		whole.args = append(whole.args, a)
	}
	t.say(&whole)
	return t.number(whole)
}
