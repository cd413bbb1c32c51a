package decode

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// Prefill is the name of the function of a block of positions.
const Prefill = "prefill"

// Block makes the function that fills the caches for n positions at once, from the
// position that it is given on: what the function of one position does for each of them,
// with one more axis in every value that depends on the position.
//
//	one     x [batch, embed]          scores [batch, heads, kseq]          cache row t
//	block   x [batch, block, embed]   scores [batch, block, heads, kseq]   rows t … t+n−1
//
// Row i of a block sees in the caches also the rows behind it that the block computes.
// These are behind its position, where nothing counts, as was proved of the function of
// one position for whatever number stands there. So rows of padding, behind a prompt, do
// no harm either: each is written again before it counts. Positions that the caches have
// not are left out.
//
// Into slots of experts all tokens of a block are scattered at once, each into its own,
// so that experts compute as much as for one. Who is in a slot is counted: there,
// no position may be run twice, nor for padding.
//
// There are no logits: those of a prompt's last position are what the function of one
// position gives. The error is why there is none: an operation may not take an axis more.
func (d *Derived) Block(n int) (*ir.Func, error) {
	if len(d.caches)+len(d.taken) == 0 {
		return nil, fmt.Errorf("no position reads another one")
	}
	axis := "block"
	for d.has(axis) {
		axis += "_"
	}
	m := newLifter(d, Prefill, axis, n)
	var from *ir.Value
	for _, a := range d.Func.Args {
		t := a.Value.Type.Clone()
		if a.Role == ir.RoleState && a.Path == Logits {
			continue
		}
		if a == d.tokens {
			m.argument(a, m.typed(t)).Path += "_" + axis // a field of another shape has a place of its own
		} else if c := m.argument(a, t); a.Value == d.at {
			from = c.Value
		}
	}
	m.of[d.at] = m.b.Add(from, m.b.Emit(op.Index, ir.A("axis", ir.Name(axis), "size", ir.Int(n))))
	if err := m.fillAll(from); err != nil {
		return nil, err
	}
	m.finish()
	return m.to, nil
}

// has reports whether a value of the function has the axis.
func (d *Derived) has(axis string) bool {
	f := d.Func
	return slices.ContainsFunc(f.Args, func(a *ir.Arg) bool { return a.Value.Type.Has(axis) }) ||
		slices.ContainsFunc(f.Ops, func(o *ir.Op) bool { return o.Result().Type.Has(axis) })
}

// fillAll computes all caches with the rows of a block.
func (m *lifter) fillAll(from *ir.Value) error {
	caches := map[*ir.Value]cache{}
	for _, c := range m.d.caches {
		caches[c.now] = c
	}
	for _, o := range m.d.Func.Ops {
		if c, ok := caches[o.Result()]; ok {
			m.of[c.now] = m.fill(o, c, from)
		} else if m.d.fills[o] && m.lifted(o.Args[1]) {
			m.scatter(o)
		} else if err := m.again(o); err != nil {
			return err
		}
	}
	for _, c := range m.d.caches {
		m.to.Results = append(m.to.Results, ir.Result{Value: m.of[c.now], Role: ir.RoleState, Path: c.old.Path})
	}
	for _, r := range m.d.taken {
		m.to.Results = append(m.to.Results, ir.Result{Value: m.of[r.Value], Role: r.Role, Path: r.Path})
	}
	return nil
}

// fill is a cache with the rows of the block.
//
//	cache  [kseq, …]   row i is number i − t of the block, where there is one
func (m *lifter) fill(o *ir.Op, c cache, from *ir.Value) *ir.Value {
	m.b.Scope, m.b.Pos = o.Scope, o.Pos
	t := o.Result().Type
	old, row := m.of[c.old.Value], m.of[c.row]
	number := m.b.Sub(m.b.Emit(op.Index, ir.A("axis", ir.Name(c.axis), "size", ir.Int(t.Size(c.axis)))), from)
	here := m.b.Emit(op.And, nil,
		m.b.Emit(op.Ge, nil, number, m.b.Const(ir.I32, 0)),
		m.b.Emit(op.Lt, nil, number, m.b.Const(ir.I32, float64(m.n))))
	if m.lifted(c.row) {
		row = m.b.Emit(op.Gather, ir.A("axis", ir.Name(m.axis)), row, number)
	}
	return m.b.Reorder(m.b.Select(here, row, old), t)
}

// scatter is a scatter into slots of all tokens of the block.
func (m *lifter) scatter(o *ir.Op) {
	m.b.Scope, m.b.Pos = o.Scope, o.Pos
	x := m.b.Broadcast(m.of[o.Args[0]], m.typed(o.Args[0].Type))
	m.of[o.Result()] = m.b.Emit(op.ScatterAdd, o.Attrs, x, m.of[o.Args[1]])
}
