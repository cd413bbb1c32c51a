package decode

import (
	"math"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
)

// slotWant is a value of slots, with only those filled that the position fills.
type slotWant struct {
	v, cell    *ir.Value
	rows, axes string
}

// slot is `y[cell = cell]` at rows, where y is computed of x scattered by the same
// cells, and slots are kept apart on the way: then what a token reads is computed of
// what is in its slots, which is what it put there, and no other row is needed.
//
//	into = scatter(x, cell, over = (choice, seq), into = cell)
//	back = f(into)[cell = cell]
//
// It is nil where the gather is none of these. That no two tokens share a slot depends
// on numbers: a state counts who was in each, and the logits are NaN where a position
// finds a slot taken.
func (w *deriver) slot(o *ir.Op, r rows) *ir.Value {
	y, cell, axis := o.Args[0], o.Args[1], o.Attrs.Text("axis")
	if !w.facts[y].tokens || len(w.facts[y].axes) > 0 || len(r) == 0 {
		return nil
	}
	s := &slots{w: w, cell: cell, rows: r.of(cell.Type)}
	if y.Def == nil || len(s.rows) != len(r) {
		return nil
	}
	x := s.get(y, []string{axis})
	if x == nil {
		return nil
	}
	at := w.get(cell, s.rows)
	w.guard(s.from, at)
	return w.emit(o, o.Attrs, r.names(o.Result().Type), x, at)
}

// slots follows a value of slots back to where they are filled.
type slots struct {
	w    *deriver
	cell *ir.Value
	rows rows
	from *ir.Op // what fills them
}

// get is v with the slots of the position alone; axes are those that number slots. It
// is nil where v does not keep slots apart.
func (s *slots) get(v *ir.Value, axes []string) *ir.Value {
	w, o := s.w, v.Def
	if !w.facts[v].tokens {
		return w.get(v, rows{})
	}
	if o == nil {
		return nil
	}
	key := slotWant{v, s.cell, s.rows.String(), strings.Join(axes, " ")}
	if x := w.slots[key]; x != nil {
		return x
	}
	var x *ir.Value
	if o.Name == op.ScatterAdd {
		x = s.fill(o, axes)
	} else if back, ok := apart(o, axes); ok {
		x = s.again(o, back)
	}
	w.slots[key] = x
	return x
}

// again is o of what its operands are.
func (s *slots) again(o *ir.Op, axes []string) *ir.Value {
	var args []*ir.Value
	for _, a := range o.Args {
		x := s.get(a, axes)
		if x == nil {
			return nil
		}
		args = append(args, x)
	}
	return s.w.emit(o, o.Attrs, o.Result().Type.Names(), args...)
}

// fill scatters the row of the position alone.
func (s *slots) fill(o *ir.Op, axes []string) *ir.Value {
	w := s.w
	x, cell := o.Args[0], o.Args[1]
	if cell != s.cell || !slices.Equal(axes, []string{o.Attrs.Text("axis")}) || s.from != nil && s.from != o {
		return nil
	}
	s.from = o
	into := w.emit(o, o.Attrs, o.Result().Type.Names(), w.get(x, s.rows.of(x.Type)), w.get(cell, s.rows))
	w.fills[scatterOf(into)] = true
	return into
}

// scatterOf is the scatter whose result v is, in some order.
func scatterOf(v *ir.Value) *ir.Op {
	if v.Def.Name == op.Transpose {
		v = v.Def.Args[0]
	}
	return v.Def
}

// apart reports whether o computes each slot of its result of the same slot of its
// operands, and by which axes these number them.
func apart(o *ir.Op, axes []string) ([]string, bool) {
	switch d := op.Of(o); d.Class {
	case op.Elementwise:
		return axes, true
	case op.Contraction, op.Reduction:
		if slices.ContainsFunc(o.Attrs.Names("over"), func(n string) bool { return slices.Contains(axes, n) }) {
			return nil, false
		}
		return axes, true
	}
	switch o.Name {
	case op.Transpose, op.Broadcast:
		return axes, true
	case op.Rename:
		var back []string
		for _, n := range o.Args[0].Type.Names() {
			if slices.Contains(axes, renamed(o, n)) {
				back = append(back, n)
			}
		}
		return back, true
	case op.Split:
		return apartSplit(o, axes)
	case op.Merge:
		into := o.Attrs.Text("into")
		if !slices.Contains(axes, into) {
			return axes, true
		}
		back := slices.DeleteFunc(slices.Clone(axes), func(n string) bool { return n == into })
		return append(back, o.Attrs.Names("axes")...), true
	}
	return nil, false
}

// apartSplit: slots that are numbered by all parts of an axis are numbered by it.
func apartSplit(o *ir.Op, axes []string) ([]string, bool) {
	into := o.Attrs.Sizes("into")
	back := slices.Clone(axes)
	for _, s := range into {
		i := slices.Index(back, s.Name)
		if i < 0 {
			return axes, !slices.ContainsFunc(into, func(s ir.SizeOf) bool { return slices.Contains(axes, s.Name) })
		}
		back = slices.Delete(back, i, i+1)
	}
	return append(back, o.Attrs.Text("axis")), true
}

// guard counts the tokens in each slot, and notes whether all are alone in theirs. A
// later token that comes to a slot of an earlier one is found when it comes, or at the
// next position whose logits are asked for.
func (w *deriver) guard(fill *ir.Op, at *ir.Value) {
	axis := fill.Attrs.Text("axis")
	w.place(fill)
	out := ir.Sizes{}
	for _, s := range fill.Attrs.Sizes("out") {
		if s.Name == axis || at.Type.Has(s.Name) {
			out = append(out, s)
		}
	}
	one := w.b.Broadcast(w.b.Const(ir.I32, 1), at.Type)
	now := w.b.Emit(op.ScatterAdd, ir.A("axis", ir.Name(axis), "out", out), one, at)
	w.fills[now.Def] = true
	path := w.path(fill.Result(), Taken)
	old := &ir.Arg{Value: w.to.NewValue(now.Type.Clone(), nil), Role: ir.RoleState, Path: path, Attrs: zeros(), Pos: fill.Pos}
	taken := w.b.Add(old.Value, now)
	w.states, w.ends = append(w.states, old), append(w.ends, ir.Result{Value: taken, Role: ir.RoleState, Path: path})
	w.taken = append(w.taken, w.ends[len(w.ends)-1])
	w.guards = append(w.guards, w.b.Emit(op.Le, nil, taken, w.b.Const(ir.I32, 1)))
	w.remark("each token has its own slot along `%s`, which a run checks (%s)", axis, fill.Pos)
}

// guarded is the logits, NaN where a position shares a slot.
func (w *deriver) guarded(v *ir.Value) *ir.Value {
	for _, g := range w.guards {
		bad := w.b.Cast(w.b.Emit(op.Not, nil, g), ir.I32)
		var over []string
		for _, n := range bad.Type.Names() {
			if !v.Type.Has(n) {
				over = append(over, n)
			}
		}
		none := w.b.Emit(op.Eq, nil, w.b.Sum(bad, over...), w.b.Const(ir.I32, 0))
		v = w.b.Reorder(w.b.Select(none, v, w.b.Like(v, math.NaN())), v.Type)
	}
	return v
}
