package decode

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// lifter makes a function of that of one position in which values have one axis more
// where they depend on something that has it. As operands align by name, an operation
// does with them along that axis what it did for one.
type lifter struct {
	d    *Derived
	axis string // the axis
	n    int    // its size
	to   *ir.Func
	b    op.Builder
	of   map[*ir.Value]*ir.Value // new values
}

func newLifter(d *Derived, name, axis string, n int) *lifter {
	m := &lifter{d: d, axis: axis, n: n, of: map[*ir.Value]*ir.Value{}}
	m.to = &ir.Func{Name: name, Class: ir.Entry}
	m.b.F = m.to
	return m
}

// argument is one of the new function with another type.
func (m *lifter) argument(a *ir.Arg, t ir.Type) *ir.Arg {
	c := *a
	c.Value = m.to.NewValue(t, nil)
	m.of[a.Value] = c.Value
	m.to.Args = append(m.to.Args, &c)
	return &c
}

// lifted reports whether v has got the axis.
func (m *lifter) lifted(v *ir.Value) bool { return m.of[v].Type.Has(m.axis) && !v.Type.Has(m.axis) }

// names are those of t with the axis: behind the batch, or first.
func (m *lifter) names(t ir.Type) []string {
	out := t.Names()
	if slices.Contains(out, m.axis) {
		return out
	}
	return slices.Insert(out, slices.Index(out, m.d.Batch)+1, m.axis)
}

// typed is t with the axis.
func (m *lifter) typed(t ir.Type) ir.Type {
	out := ir.Type{DType: t.DType}
	for _, n := range m.names(t) {
		size := m.n
		if n != m.axis {
			size = t.Size(n)
		}
		out.Axes = append(out.Axes, ir.Axis{Name: n, Size: size})
	}
	return out
}

// again is o of the new operands.
func (m *lifter) again(o *ir.Op) error {
	m.b.Scope, m.b.Pos = o.Scope, o.Pos
	args := make([]*ir.Value, len(o.Args))
	lifts, has := false, false
	for i, a := range o.Args {
		args[i] = m.of[a]
		lifts, has = lifts || m.lifted(a), has || args[i].Type.Has(m.axis)
	}
	attrs := o.Attrs
	if lifts {
		attrs, args = m.attrs(o, args)
	}
	r, err := m.b.TryEmit(o.Name, args, attrs)
	if err == nil && (len(r) != 1 || has && !r[0].Type.Has(m.axis)) {
		err = fmt.Errorf("it loses the axis `%s`", m.axis)
	}
	if err != nil {
		return fmt.Errorf("`%s` (%s): %w", wordOf(o), o.Pos, err)
	}
	if m.of[o.Result()] = r[0]; lifts {
		m.of[o.Result()] = m.b.Reorder(r[0], m.typed(o.Result().Type))
	}
	return nil
}

// attrs are the attributes and operands of o along the axis.
func (m *lifter) attrs(o *ir.Op, args []*ir.Value) (ir.Attrs, []*ir.Value) {
	t := o.Result().Type
	switch o.Name {
	case op.Dot:
		if o.Attrs.Has("out") {
			return o.Attrs.With("out", ir.Names(m.names(t))), args
		}
	case op.Transpose:
		return o.Attrs.With("order", ir.Names(m.names(t))), args
	case op.Broadcast:
		return o.Attrs.With("axes", sizes(m.typed(t))), args
	case op.Merge: // of neighbours
		first := slices.DeleteFunc(args[0].Type.Names(), func(n string) bool { return n == m.axis })
		order := ir.Names(append([]string{m.axis}, first...))
		return o.Attrs, []*ir.Value{m.b.Emit(op.Transpose, ir.A("order", order), args[0])}
	case op.Concat:
		for i, a := range o.Args {
			args[i] = m.b.Broadcast(args[i], m.typed(a.Type))
		}
	case op.ScatterAdd:
		args[0] = m.b.Broadcast(args[0], m.typed(o.Args[0].Type))
		return o.Attrs.With("out", append(ir.Sizes{{Name: m.axis, N: m.n}}, o.Attrs.Sizes("out")...)), args
	}
	return o.Attrs, args
}

func sizes(t ir.Type) (out ir.Sizes) {
	for _, a := range t.Axes {
		out = append(out, ir.SizeOf{Name: a.Name, N: a.Size})
	}
	return out
}

// finish drops what no result needs.
func (m *lifter) finish() {
	m.to.DropDead(func(*ir.Op) bool { return false })
	m.to.Args = slices.DeleteFunc(m.to.Args, func(a *ir.Arg) bool { return a.Role == ir.RoleParam && !m.reads(a.Value) })
	m.to.Renumber()
}

func (m *lifter) reads(v *ir.Value) bool {
	return slices.ContainsFunc(m.to.Ops, func(o *ir.Op) bool { return slices.Contains(o.Args, v) })
}
