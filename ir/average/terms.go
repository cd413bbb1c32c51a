package average

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// decomposition finds the terms of scalars.
type decomposition struct{ a *analysis }

func (d *decomposition) kind(v *ir.Value) kind { return d.a.of[v].kind }

// terms are those of v.
func (d *decomposition) terms(v *ir.Value) []quotient {
	if k := d.kind(v); k == fixed || k == sum {
		return []quotient{{sums: []scaled{{v: v}}}}
	}
	if out := d.parts(v); out != nil {
		return out
	}
	q := quotient{sums: []scaled{{v: v}}, related: true}
	if v.Def != nil {
		q.at = v.Def.Pos
	}
	return []quotient{q}
}

// parts are the terms of what v is computed from; nil where that says nothing.
func (d *decomposition) parts(v *ir.Value) []quotient {
	o := v.Def
	if o == nil || v.Type.Rank() > 0 {
		return nil
	}
	x := o.Args
	switch o.Name {
	case op.Add:
		return append(d.terms(x[0]), d.terms(x[1])...)
	case op.Sub:
		return append(d.terms(x[0]), times(d.terms(x[1]), factor{name: op.Neg})...)
	case op.Neg:
		return times(d.terms(x[0]), factor{name: op.Neg})
	case op.Cast, op.Detach:
		if v.Type.DType.IsFloat() {
			return d.terms(x[0])
		}
	case op.Mul:
		for i := range x {
			if d.kind(x[i]) == fixed {
				return times(d.terms(x[1-i]), factor{op.Mul, x[i]})
			}
			if q := d.quotient(x[i]); q != nil && d.kind(q.sums[0].v) == fixed && d.kind(x[1-i]) == sum { // Σ · (1 / Σ w)
				q.sums[0].v, q.sums[0].by = x[1-i], append([]factor{{op.Mul, q.sums[0].v}}, q.sums[0].by...)
				return []quotient{*q}
			}
		}
	case op.Div:
		if d.kind(x[1]) == fixed {
			return times(d.terms(x[0]), factor{op.Div, x[1]})
		}
		if q := d.quotient(v); q != nil {
			return []quotient{*q}
		}
	case op.Select:
		if q := d.guarded(o); q != nil {
			return []quotient{*q}
		}
	}
	return nil
}

// quotient is v as a sum, or what depends on no row, divided by a weight; nil where it is
// none.
func (d *decomposition) quotient(v *ir.Value) *quotient {
	o := v.Def
	if o == nil || o.Name != op.Div || !v.Type.DType.IsFloat() || d.kind(o.Args[0]) == related {
		return nil
	}
	q := &quotient{sums: []scaled{{v: o.Args[0]}}, at: o.Pos}
	if !d.weight(o.Args[1], q) {
		return nil
	}
	return q
}

// weight reads a sum, which is at least a number or has one added to it, as those that
// divide by it write that it is never 0.
func (d *decomposition) weight(v *ir.Value, q *quotient) bool {
	if d.kind(v) == sum {
		q.weight = v
		return true
	}
	o := v.Def
	if o == nil {
		return false
	}
	switch o.Name {
	case op.Cast:
		return v.Type.DType.IsFloat() && d.weight(o.Args[0], q)
	case op.Max, op.Add:
		for i := range o.Args {
			c, ok := constantOf(o.Args[i])
			if !ok || c < 0 || d.kind(o.Args[1-i]) != sum {
				continue
			}
			if q.weight = o.Args[1-i]; o.Name == op.Max {
				q.floor = c
			} else {
				q.plus = c
			}
			return true
		}
	}
	return false
}

// guarded is a quotient that is 0 where there is no weight: select(w > 0, s / w, 0).
func (d *decomposition) guarded(o *ir.Op) *quotient {
	c := o.Args[0].Def
	if c == nil || len(c.Args) != 2 {
		return nil
	}
	some, none := o.Args[1], o.Args[2]
	w, zero := c.Args[0], c.Args[1]
	switch c.Name {
	case op.Gt, op.Ne:
	case op.Lt:
		w, zero = zero, w
	case op.Eq, op.Le:
		some, none = none, some
	default:
		return nil
	}
	if !constant(zero, 0) || !constant(none, 0) {
		return nil
	}
	list := d.terms(some)
	if len(list) != 1 || list[0].weight == nil || !same(w, list[0].weight) {
		return nil
	}
	list[0].zero = true
	return &list[0]
}

// times has all terms multiplied, divided or negated.
func times(list []quotient, by factor) []quotient {
	for i := range list {
		for j := range list[i].sums {
			s := &list[i].sums[j]
			s.by = append(slices.Clone(s.by), by)
		}
	}
	return list
}

// merge brings together the terms of one weight, those without a weight, and those of
// which rows are related.
func (d *decomposition) merge(list []quotient) (out []quotient) {
	for _, q := range list {
		i := slices.IndexFunc(out, func(p quotient) bool {
			return p.related == q.related && p.floor == q.floor && p.plus == q.plus && p.zero == q.zero &&
				(p.weight == nil) == (q.weight == nil) && (p.weight == nil || same(p.weight, q.weight))
		})
		if i < 0 {
			out = append(out, q)
			continue
		}
		out[i].sums = append(out[i].sums, q.sums...)
	}
	return out
}

// maxSame bounds how many operations same compares: those that make a weight are few.
const maxSame = 64

// same reports whether two values are computed alike, from the same values.
func same(v, w *ir.Value) bool {
	left := maxSame
	var eq func(v, w *ir.Value) bool
	eq = func(v, w *ir.Value) bool {
		if v == w {
			return true
		}
		o, p := v.Def, w.Def
		if left--; left < 0 || o == nil || p == nil || o.Name != p.Name || len(o.Args) != len(p.Args) || o.Run != p.Run ||
			o.Attrs.String() != p.Attrs.String() || !v.Type.Equal(w.Type) || slices.Index(o.Results, v) != slices.Index(p.Results, w) {
			return false
		}
		return slices.EqualFunc(o.Args, p.Args, eq)
	}
	return eq(v, w)
}
