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
// There are no logits: those of a prompt's last position are what the function of one
// position gives. The error is why there is none: experts count who is in a slot, which
// padding must not be, and an operation may not take an axis more.
func (d *Derived) Block(n int) (f *ir.Func, err error) {
	switch {
	case len(d.caches) == 0:
		return nil, fmt.Errorf("no position reads another one")
	case d.slots:
		return nil, fmt.Errorf("experts count the tokens in their slots one by one")
	}
	m := &blocker{d: d, n: n, axis: "block", of: map[*ir.Value]*ir.Value{}, kept: map[*ir.Value]cache{}}
	for m.taken() {
		m.axis += "_"
	}
	m.to = &ir.Func{Name: Prefill, Class: ir.Entry}
	m.b.F = m.to
	if err := m.build(); err != nil {
		return nil, err
	}
	return m.to, nil
}

// blocker makes the function of a block of that of one position.
type blocker struct {
	d    *Derived
	n    int
	axis string // of the positions of a block
	to   *ir.Func
	b    op.Builder
	of   map[*ir.Value]*ir.Value
	from *ir.Value           // the first position
	kept map[*ir.Value]cache // by what they become
}

// taken reports whether the axis is one of the function.
func (m *blocker) taken() bool {
	f := m.d.Func
	return slices.ContainsFunc(f.Args, func(a *ir.Arg) bool { return a.Value.Type.Has(m.axis) }) ||
		slices.ContainsFunc(f.Ops, func(o *ir.Op) bool { return o.Result().Type.Has(m.axis) })
}

func (m *blocker) build() error {
	for _, c := range m.d.caches {
		m.kept[c.now] = c
	}
	m.arguments()
	for _, o := range m.d.Func.Ops {
		if c, ok := m.kept[o.Result()]; ok {
			m.of[o.Result()] = m.fill(o, c)
			continue
		}
		v, err := m.again(o)
		if err != nil {
			return fmt.Errorf("`%s` (%s): %w", wordOf(o), o.Pos, err)
		}
		m.of[o.Result()] = v
	}
	for _, c := range m.d.caches {
		m.to.Results = append(m.to.Results, ir.Result{Value: m.of[c.now], Role: ir.RoleState, Path: c.old.Path})
	}
	m.to.DropDead(func(*ir.Op) bool { return false })
	m.to.Args = slices.DeleteFunc(m.to.Args, func(a *ir.Arg) bool { return a.Role == ir.RoleParam && !m.reads(a.Value) })
	m.to.Renumber()
	return nil
}

func (m *blocker) reads(v *ir.Value) bool {
	return slices.ContainsFunc(m.to.Ops, func(o *ir.Op) bool { return slices.Contains(o.Args, v) })
}

// arguments are those of the function of one position, less the logits, with the tokens
// of a block.
func (m *blocker) arguments() {
	var at *ir.Value
	for _, a := range m.d.Func.Args {
		if a.Role == ir.RoleState && a.Path == Logits {
			continue
		}
		c, t := *a, a.Value.Type.Clone()
		if a == m.d.tokens {
			t.Axes = append(t.Axes, ir.Axis{Name: m.axis, Size: m.n})
			c.Path += "_" + m.axis // a field of another shape has a place of its own
		}
		c.Value = m.to.NewValue(t, nil)
		m.to.Args = append(m.to.Args, &c)
		if m.of[a.Value] = c.Value; a.Value == m.d.at {
			at = c.Value
		}
	}
	m.from = at
	m.of[m.d.at] = m.b.Add(at, m.b.Emit(op.Index, ir.A("axis", ir.Name(m.axis), "size", ir.Int(m.n))))
}

// has reports whether the new value of v is one for each position of the block.
func (m *blocker) has(v *ir.Value) bool { return m.of[v].Type.Has(m.axis) }

// names are those of t with that of the block: behind the batch, or first.
func (m *blocker) names(t ir.Type) []string {
	out := t.Names()
	return slices.Insert(out, slices.Index(out, m.d.Batch)+1, m.axis)
}

// typed is t with the axis of the block.
func (m *blocker) typed(t ir.Type) ir.Type {
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

// fill is a cache with the rows of the block.
//
//	cache  [kseq, …]   row i is number i − t of the block, where there is one
func (m *blocker) fill(o *ir.Op, c cache) *ir.Value {
	m.b.Scope, m.b.Pos = o.Scope, o.Pos
	t := o.Result().Type
	old, row := m.of[c.old.Value], m.of[c.row]
	number := m.b.Sub(m.b.Emit(op.Index, ir.A("axis", ir.Name(c.axis), "size", ir.Int(t.Size(c.axis)))), m.from)
	here := m.b.Emit(op.And, nil,
		m.b.Emit(op.Ge, nil, number, m.b.Const(ir.I32, 0)),
		m.b.Emit(op.Lt, nil, number, m.b.Const(ir.I32, float64(m.n))))
	if m.has(c.row) {
		row = m.b.Emit(op.Gather, ir.A("axis", ir.Name(m.axis)), row, number)
	}
	return m.b.Reorder(m.b.Select(here, row, old), t)
}

// again is o of the new operands.
func (m *blocker) again(o *ir.Op) (*ir.Value, error) {
	m.b.Scope, m.b.Pos = o.Scope, o.Pos
	args := make([]*ir.Value, len(o.Args))
	mapped := false
	for i, a := range o.Args {
		args[i] = m.of[a]
		mapped = mapped || m.has(a)
	}
	attrs := o.Attrs
	if mapped {
		attrs, args = m.mapped(o, args)
	}
	r, err := m.b.TryEmit(o.Name, args, attrs)
	switch {
	case err != nil:
		return nil, err
	case len(r) != 1 || r[0].Type.Has(m.axis) != mapped:
		return nil, fmt.Errorf("it has no axis for the positions of a block")
	case !mapped:
		return r[0], nil
	}
	return m.b.Reorder(r[0], m.typed(o.Result().Type)), nil
}

// mapped are the attributes and operands with which o does for each position of the
// block what it did for one.
func (m *blocker) mapped(o *ir.Op, args []*ir.Value) (ir.Attrs, []*ir.Value) {
	t := o.Result().Type
	switch o.Name {
	case op.Dot:
		if o.Attrs.Has("out") {
			return o.Attrs.With("out", ir.Names(m.names(t))), args
		}
	case op.Transpose:
		return o.Attrs.With("order", ir.Names(m.names(t))), args
	case op.Broadcast:
		return o.Attrs.With("axes", m.sizes(t)), args
	case op.Merge: // of neighbours
		first := slices.DeleteFunc(args[0].Type.Names(), func(n string) bool { return n == m.axis })
		return o.Attrs, []*ir.Value{m.b.Reorder(args[0], m.ordered(args[0].Type, append([]string{m.axis}, first...)))}
	case op.Concat:
		for i, a := range o.Args {
			args[i] = m.b.Broadcast(args[i], m.typed(a.Type))
		}
	case op.ScatterAdd:
		out := o.Attrs.Sizes("out")
		args[0] = m.b.Broadcast(args[0], m.typed(o.Args[0].Type))
		return o.Attrs.With("out", ir.Sizes(append(slices.Clone(out), ir.SizeOf{Name: m.axis, N: m.n}))), args
	}
	return o.Attrs, args
}

func (m *blocker) sizes(t ir.Type) (out ir.Sizes) {
	for _, a := range m.typed(t).Axes {
		out = append(out, ir.SizeOf{Name: a.Name, N: a.Size})
	}
	return out
}

// ordered is t with its axes in an order.
func (m *blocker) ordered(t ir.Type, names []string) ir.Type {
	out := ir.Type{DType: t.DType}
	for _, n := range names {
		out.Axes = append(out.Axes, ir.Axis{Name: n, Size: t.Size(n)})
	}
	return out
}
