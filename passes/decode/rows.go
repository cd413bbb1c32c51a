package decode

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
)

// rows says along which axes of a value one element is asked for: that of the position,
// or of a digit of it. The others are asked for as a whole.
type rows map[string]digit

// want is a value and its rows.
type want struct {
	v    *ir.Value
	rows string
}

// String names rows, in order.
func (r rows) String() string {
	var b strings.Builder
	for _, n := range slices.Sorted(maps.Keys(r)) {
		fmt.Fprintf(&b, "%s:%d:%d ", n, r[n].div, r[n].size)
	}
	return b.String()
}

// of are the rows among the axes of t.
func (r rows) of(t ir.Type) rows {
	out := rows{}
	for n, d := range r {
		if t.Has(n) {
			out[n] = d
		}
	}
	return out
}

// names are the axes of t less those of which there is one row.
func (r rows) names(t ir.Type) (out []string) {
	for _, n := range t.Names() {
		if _, one := r[n]; !one {
			out = append(out, n)
		}
	}
	return out
}

// get is v at these rows: a value without these axes.
func (w *deriver) get(v *ir.Value, r rows) *ir.Value {
	key := want{v, r.String()}
	if x := w.made[key]; x != nil {
		return x
	}
	x := w.compute(v, r)
	w.made[key] = x
	return x
}

func (w *deriver) compute(v *ir.Value, r rows) *ir.Value {
	o := v.Def
	switch {
	case o == nil && w.facts[v].tokens:
		if len(r) == 0 {
			return w.cached(v, w.axis)
		}
		return w.args[v]
	case o == nil:
		return w.pick(w.args[v], r)
	case w.facts[v].tokens && len(r) == 0:
		return w.whole(v)
	}
	switch d := op.Of(o); d.Class {
	case op.Elementwise, op.Contraction, op.Reduction:
		attrs := o.Attrs
		if attrs.Has("out") {
			attrs = attrs.With("out", ir.Names(r.names(v.Type)))
		}
		return w.emit(o, attrs, r.names(v.Type), w.operands(o, r)...)
	case op.Source:
		return w.source(o, r)
	case op.Indexed:
		return w.indexed(o, r)
	case op.Movement:
		return w.moved(o, r)
	}
	if len(o.Args) == 1 && op.Has(o, op.SameValue) {
		return w.get(o.Args[0], r)
	}
	fail("E0722", o, "`%s` cannot be computed for one position", wordOf(o))
	return nil
}

// operands are those of an operation in which an axis is the same dimension by its name.
func (w *deriver) operands(o *ir.Op, r rows) (out []*ir.Value) {
	for _, a := range o.Args {
		out = append(out, w.get(a, r.of(a.Type)))
	}
	return out
}

// whole is a value that depends on tokens, at all positions. Where it has one row for
// each, which is there at its position, it is a cache; else it is computed of what has.
// What only moves is moved again, so that a cache holds nothing twice.
func (w *deriver) whole(v *ir.Value) *ir.Value {
	o, axis := v.Def, ""
	for _, a := range v.Type.Axes {
		if d, ok := w.facts[v].axes[a.Name]; ok && d == (digit{1, w.length}) && axis == "" {
			axis = a.Name
		}
	}
	class := op.Of(o).Class
	moves := class == op.Movement && len(o.Args) == 1 && w.hasRows(o.Args[0])
	if axis != "" && !moves && !w.ahead.open(w.get(v, rows{axis: digit{1, w.length}})) {
		return w.cached(v, axis)
	}
	switch class {
	case op.Elementwise, op.Contraction, op.Reduction, op.Indexed:
		return w.emit(o, o.Attrs, v.Type.Names(), w.operands(o, rows{})...)
	case op.Movement:
		return w.moved(o, rows{})
	}
	fail("E0722", o, "`%s` cannot be computed for one position", wordOf(o))
	return nil
}

// hasRows reports whether a value has a row for each position along one axis.
func (w *deriver) hasRows(v *ir.Value) bool {
	for _, d := range w.facts[v].axes {
		if d == (digit{1, w.length}) && v.Def != nil {
			return true
		}
	}
	return false
}

// digit is that of the position, an i32 scalar.
func (w *deriver) digit(d digit) *ir.Value {
	v := w.at
	if d.div > 1 {
		v = w.follow(w.b.Div(v, w.b.Const(ir.I32, float64(d.div))))
	}
	if d.div*d.size < w.length {
		v = w.follow(w.b.Emit(op.Mod, nil, v, w.b.Const(ir.I32, float64(d.size))))
	}
	w.ahead.number(v, d)
	return v
}

func (w *deriver) follow(v *ir.Value) *ir.Value {
	w.ahead.follow(v.Def)
	return v
}

// pick is a value that is there as a whole at rows, of which those of major digits come
// first.
func (w *deriver) pick(v *ir.Value, r rows) *ir.Value {
	axes := slices.Sorted(maps.Keys(r))
	slices.SortStableFunc(axes, func(a, b string) int { return r[b].div - r[a].div })
	for _, axis := range axes {
		at := w.digit(r[axis])
		v = w.b.Emit(op.Gather, ir.A("axis", ir.Name(axis)), v, at)
		w.ahead.picked(v.Def, axis, r[axis])
	}
	return v
}

// source is an operation without operands: an index at a row is the position.
func (w *deriver) source(o *ir.Op, r rows) *ir.Value {
	w.place(o)
	if o.Name == op.Index && len(r) == 1 && !o.Attrs.Has(ir.AttrFirst) {
		return w.digit(r[o.Attrs.Text("axis")])
	}
	if len(o.Args) > 0 {
		fail("E0722", o, "`%s` cannot be computed for one position", wordOf(o))
	}
	return w.pick(w.emit(o, o.Attrs, o.Result().Type.Names()), r)
}

// indexed looks up rows: those of a table by tokens at the position, as a rule.
func (w *deriver) indexed(o *ir.Op, r rows) *ir.Value {
	if o.Name == op.Gather {
		if x := w.slot(o, r); x != nil {
			return x
		}
		return w.emit(o, o.Attrs, r.names(o.Result().Type), w.operands(o, r)...)
	}
	if axis := o.Attrs.Text("axis"); has(r, axis) {
		fail("E0722", o, "`%s` moves values along `%s`, so that a position has those of another one", wordOf(o), axis)
	}
	return w.emit(o, less(o.Attrs, "out", r), r.names(o.Result().Type), w.operands(o, r)...)
}

// moved is a movement at rows.
func (w *deriver) moved(o *ir.Op, r rows) *ir.Value {
	t, x := o.Result().Type, o.Args[0]
	switch o.Name {
	case op.Transpose:
		return w.emit(o, ir.A("order", ir.Names(r.names(t))), r.names(t), w.get(x, r))
	case op.Broadcast:
		return w.emit(o, less(o.Attrs, "axes", r), r.names(t), w.get(x, r.of(x.Type)))
	case op.Rename:
		return w.rename(o, r)
	case op.Split:
		return w.split(o, r)
	case op.Merge:
		return w.merge(o, r)
	case op.Slice, op.Pad, op.Concat, op.Take:
		if has(r, o.Attrs.Text("axis")) { // a row of what is moved as a whole is that of another position
			return w.pick(w.get(o.Result(), rows{}), r)
		}
		return w.emit(o, o.Attrs, r.names(t), w.operands(o, r)...)
	}
	fail("E0722", o, "`%s` cannot be computed for one position", wordOf(o))
	return nil
}

func has(r rows, axis string) bool { _, ok := r[axis]; return ok }

// less are attributes less the sizes of rows under key.
func less(attrs ir.Attrs, key string, r rows) ir.Attrs {
	var left ir.Sizes
	for _, s := range attrs.Sizes(key) {
		if !has(r, s.Name) {
			left = append(left, s)
		}
	}
	return attrs.With(key, left)
}

func (w *deriver) rename(o *ir.Op, r rows) *ir.Value {
	from, pairs := rows{}, ir.Pairs{}
	for _, n := range o.Args[0].Type.Names() {
		to := renamed(o, n)
		if d, one := r[to]; one {
			from[n] = d
		} else if to != n {
			pairs = append(pairs, ir.Pair{From: n, To: to})
		}
	}
	x := w.get(o.Args[0], from)
	if len(pairs) == 0 {
		return x
	}
	return w.emit(o, ir.A("axes", pairs), r.names(o.Result().Type), x)
}

// split: where all parts are asked for at a digit, the whole is at the position; where
// some are, the whole is needed, and picked from.
func (w *deriver) split(o *ir.Op, r rows) *ir.Value {
	axis, into := o.Attrs.Text("axis"), o.Attrs.Sizes("into")
	names := make([]string, len(into))
	picked, from := rows{}, rows{}
	for i, s := range into {
		names[i] = s.Name
	}
	for n, d := range r {
		if slices.Contains(names, n) {
			picked[n] = d
		} else {
			from[n] = d
		}
	}
	if d, ok := wholeOf(names, picked); ok {
		from[axis] = d
		return w.get(o.Args[0], from)
	}
	x := w.emit(o, o.Attrs, from.names(o.Result().Type), w.get(o.Args[0], from))
	return w.pick(x, picked)
}

func (w *deriver) merge(o *ir.Op, r rows) *ir.Value {
	names, into := o.Attrs.Names("axes"), o.Attrs.Text("into")
	from := rows{}
	for n, d := range r {
		if n != into {
			from[n] = d
		}
	}
	d, one := r[into]
	if !one {
		return w.emit(o, o.Attrs, r.names(o.Result().Type), w.get(o.Args[0], from))
	}
	var parts ir.Sizes
	for _, n := range names {
		parts = append(parts, ir.SizeOf{Name: n, N: o.Args[0].Type.Size(n)})
	}
	maps.Copy(from, partsOf(d, parts))
	return w.get(o.Args[0], from)
}
