package lower

import (
	"math"
	"slices"

	"ptc/backend/kernel"
	"ptc/backend/kernel/attention"
	"ptc/ir"
	"ptc/ir/op"
)

// limit is a comparison of positions that hides the keys beyond: where cond is not as
// when says, the score is −∞.
type limit struct {
	cond       *ir.Value
	when       bool
	upper, row bool
	at         position // the bound, included, without the row
}

// position is an i32 as an affine function of the positions of row and key.
type position struct {
	row, key int64
	konst    int64
	plus     []term // what does not vary in a group
	minus    []term
}

// term is a value, or where a device's part of a sharded axis begins.
type term struct {
	value *ir.Value
	axis  ir.Axis
}

func (p position) minusOf(q position) position {
	return position{p.row - q.row, p.key - q.key, p.konst - q.konst,
		slices.Concat(p.plus, q.minus), slices.Concat(p.minus, q.plus)}
}

// limitsBy finds what bounds the keys that a position of axis rows sees: none where the
// weights of a key with score −∞ may be other than 0.
func (x *attending) limitsBy(rows string) []limit {
	f := &limits{attending: x, rows: rows}
	for _, o := range x.Outs {
		v := o.Args[0]
		if !x.dependence(v).scores {
			v = o.Args[1]
		}
		if !x.vanishes(v) {
			return nil
		}
	}
	f.score(x.scored())
	return f.found
}

// vanishes reports whether v is 0 where the exponential is.
func (x *attending) vanishes(v *ir.Value) bool {
	o := v.Def
	if o == nil || !x.dependence(v).scores {
		return false
	}
	of := func(i int) bool { return x.vanishes(o.Args[i]) }
	zero := func(i int) bool { c, ok := number(o.Args, i); return ok && c == 0 }
	switch {
	case o == x.Exp || o == x.Norm:
		return true
	case slices.Contains(x.Into, o):
		return false
	case o.Name == op.Mul:
		return of(0) || of(1)
	case o.Name == op.Div, o.Name == op.Neg, o.Name == op.Cast, o.Name == op.Detach, op.Has(o, op.ByName):
		return of(0)
	case o.Name == op.Add, o.Name == op.Sub:
		return of(0) && of(1)
	case o.Name == op.Select:
		return (zero(1) || of(1)) && (zero(2) || of(2))
	}
	return false
}

// limits is the search for what hides scores.
type limits struct {
	*attending
	rows  string
	found []limit
}

// score finds what makes v −∞.
func (f *limits) score(v *ir.Value) {
	o := v.Def
	if o == nil {
		return
	}
	none := func(i int) bool { c, ok := number(o.Args, i); return ok && math.IsInf(c, -1) }
	positive := func(i int) bool { c, ok := number(o.Args, i); return ok && c > 0 }
	switch o.Name {
	case op.Select:
		if none(2) {
			f.condition(o.Args[0], true)
			f.score(o.Args[1])
		} else if none(1) {
			f.condition(o.Args[0], false)
			f.score(o.Args[2])
		}
	case op.Add:
		f.score(o.Args[0])
		f.score(o.Args[1])
	case op.Mul:
		if positive(1) {
			f.score(o.Args[0])
		} else if positive(0) {
			f.score(o.Args[1])
		}
	case op.Div:
		if positive(1) {
			f.score(o.Args[0])
		}
	case op.Detach, op.Cast, op.Broadcast, op.Transpose:
		f.score(o.Args[0])
	}
}

// condition finds the comparisons that v being as when says needs.
func (f *limits) condition(v *ir.Value, when bool) {
	o := v.Def
	if o == nil {
		return
	}
	switch {
	case o.Name == op.Not:
		f.condition(o.Args[0], !when)
	case o.Name == op.And && when, o.Name == op.Or && !when:
		f.condition(o.Args[0], when)
		f.condition(o.Args[1], when)
	case op.Has(o, op.ByName):
		f.condition(o.Args[0], when)
	default:
		f.comparison(o, when)
	}
}

// comparison takes o for a limit where it compares positions so that it bounds keys: of
// x ≥ y the difference x−y, of a row's position less a key's or of a key's less a row's.
func (f *limits) comparison(o *ir.Op, when bool) {
	name := o.Name
	if !when {
		name = map[string]string{op.Ge: op.Lt, op.Gt: op.Le, op.Le: op.Gt, op.Lt: op.Ge}[name]
	}
	if len(o.Args) != 2 || o.Args[0].Type.DType != ir.I32 {
		return
	}
	a, okA := f.position(o.Args[0])
	b, okB := f.position(o.Args[1])
	if !okA || !okB {
		return
	}
	var d position // not negative
	switch name {
	case op.Ge:
		d = a.minusOf(b)
	case op.Gt:
		d = a.minusOf(b)
		d.konst--
	case op.Le:
		d = b.minusOf(a)
	case op.Lt:
		d = b.minusOf(a)
		d.konst--
	default:
		return
	}
	l := limit{cond: o.Result(), when: when}
	switch {
	case d.key == -1 && (d.row == 0 || d.row == 1): // key ≤ row + rest
		l.upper, l.row, l.at = true, d.row == 1, d
	case d.key == 1 && (d.row == 0 || d.row == -1): // key ≥ row − rest
		l.row, l.at = d.row == -1, position{}.minusOf(d)
	default:
		return
	}
	f.found = append(f.found, l)
}

// position is v as an affine function of positions.
func (f *limits) position(v *ir.Value) (p position, ok bool) {
	if !v.Type.Has(f.rows) && !v.Type.Has(f.Key.Name) {
		if c, ok := number([]*ir.Value{v}, 0); ok {
			return position{konst: int64(c)}, c == math.Trunc(c)
		}
		return position{plus: []term{{value: v}}}, !f.dependence(v).scores
	}
	o := v.Def
	if o == nil || v.Type.DType != ir.I32 {
		return p, false
	}
	switch {
	case o.Name == op.Index:
		p.konst = int64(op.FirstOf(o, 0))
		if o.Attrs.Text("axis") == f.Key.Name {
			p.key = 1
		} else {
			p.row = 1
		}
		if a := o.Result().Type.Axes[0]; len(a.Mesh) > 0 {
			p.plus = []term{{axis: a}}
		}
		return p, true
	case o.Name == op.Add, o.Name == op.Sub:
		a, okA := f.position(o.Args[0])
		b, okB := f.position(o.Args[1])
		if o.Name == op.Add {
			b = position{}.minusOf(b)
		}
		return a.minusOf(b), okA && okB
	case op.Has(o, op.ByName), o.Name == op.Detach:
		return f.position(o.Args[0])
	}
	return p, false
}

// bounds are the limits in the group at hand.
func (x *attending) bounds(at attention.At) (out []attention.Limit) {
	x.in(at, attention.Lanes{N: 1}, func() {
		x.place(at, false, nil, false)
		for _, l := range x.limits {
			idx := kernel.Int(l.at.konst)
			for _, v := range l.at.plus {
				idx = idx.Add(x.term(v))
			}
			for _, v := range l.at.minus {
				idx = idx.Sub(x.term(v))
			}
			out = append(out, attention.Limit{Upper: l.upper, Row: l.row, At: idx})
		}
	})
	return out
}

// term is t as an index.
func (x *attending) term(t term) kernel.Index {
	v := (*kernel.Value)(nil)
	if t.value != nil {
		v = x.value(t.value)
	} else {
		v = x.offset(t.axis)
	}
	return kernel.Of(x.b.Convert(v, kernel.I64))
}

// number is operand i where it is a constant, perhaps in another form.
func number(args []*ir.Value, i int) (float64, bool) {
	if i >= len(args) || args[i].Def == nil {
		return 0, false
	}
	switch o := args[i].Def; o.Name {
	case op.Const:
		return o.Attrs.Float("value", math.NaN()), true
	case op.Neg:
		c, ok := number(o.Args, 0)
		return -c, ok
	case op.Broadcast, op.Cast, op.Detach:
		return number(o.Args, 0)
	}
	return 0, false
}
