package lanes

import (
	"math"
	"slices"

	"ptc/backend/kernel"
	"ptc/backend/kernel/attention"
	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/op"
)

// limit is a comparison of positions that hides the keys beyond: where cond is not as
// when says, the score is −∞.
type limit struct {
	cond       *tile.Value
	when       bool
	upper, row bool
	at         position // the bound, included, without the row
}

// position is an i32 as an affine function of the positions of row and key.
type position struct {
	row, key int64
	konst    int64
	plus     []*tile.Value // what does not vary in a group
	minus    []*tile.Value
}

func (p position) minusOf(q position) position {
	return position{p.row - q.row, p.key - q.key, p.konst - q.konst,
		slices.Concat(p.plus, q.minus), slices.Concat(p.minus, q.plus)}
}

// limitsBy finds what bounds the keys that a position of rows, if there is more than
// one, sees: none where the weights of a key with score −∞ may be other than 0.
func (x *attending) limitsBy(rows *tile.Range) []limit {
	f := &limits{attending: x, rows: rows}
	for _, p := range x.Outs {
		if !x.vanishes(p.Weights) {
			return nil
		}
	}
	f.score(x.scored())
	return f.found
}

// vanishes reports whether v is 0 where the exponential is.
func (x *attending) vanishes(v *tile.Value) bool {
	o := v.Def
	if !x.dependence(v).scores {
		return false
	}
	of := func(i int) bool { return x.vanishes(o.Args[i]) }
	zero := func(i int) bool { c, ok := number(o.Args, i); return ok && c == 0 }
	switch {
	case v == x.Exp || v == x.Norm:
		return true
	case o.Kind == op.Mul:
		return of(0) || of(1)
	case o.Kind == op.Div, o.Kind == op.Neg, o.Kind == op.Cast, o.Kind == op.Detach, o.Kind == tile.Repeat:
		return of(0)
	case o.Kind == op.Add, o.Kind == op.Sub:
		return of(0) && of(1)
	case o.Kind == op.Select:
		return (zero(1) || of(1)) && (zero(2) || of(2))
	}
	return false
}

// limits is the search for what hides scores.
type limits struct {
	*attending
	rows  *tile.Range
	found []limit
}

// score finds what makes v −∞.
func (f *limits) score(v *tile.Value) {
	o := v.Def
	none := func(i int) bool { c, ok := number(o.Args, i); return ok && math.IsInf(c, -1) }
	positive := func(i int) bool { c, ok := number(o.Args, i); return ok && c > 0 }
	switch o.Kind {
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
	case op.Detach, op.Cast, tile.Repeat:
		f.score(o.Args[0])
	}
}

// condition finds the comparisons that v being as when says needs.
func (f *limits) condition(v *tile.Value, when bool) {
	o := v.Def
	switch {
	case o.Kind == op.Not:
		f.condition(o.Args[0], !when)
	case o.Kind == op.And && when, o.Kind == op.Or && !when:
		f.condition(o.Args[0], when)
		f.condition(o.Args[1], when)
	case o.Kind == tile.Repeat:
		f.condition(o.Args[0], when)
	default:
		f.comparison(o, when)
	}
}

// comparison takes o for a limit where it compares positions so that it bounds keys: of
// x ≥ y the difference x−y, of a row's position less a key's or of a key's less a row's.
func (f *limits) comparison(o *tile.Op, when bool) {
	kind := o.Kind
	if !when {
		kind = map[tile.Kind]tile.Kind{op.Ge: op.Lt, op.Gt: op.Le, op.Le: op.Gt, op.Lt: op.Ge}[kind]
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
	switch kind {
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
func (f *limits) position(v *tile.Value) (p position, ok bool) {
	if !v.Type.Has(f.Key) && (f.rows == nil || !v.Type.Has(f.rows)) {
		if c, ok := number([]*tile.Value{v}, 0); ok {
			return position{konst: int64(c)}, c == math.Trunc(c)
		}
		return position{plus: []*tile.Value{v}}, !f.dependence(v).scores
	}
	o := v.Def
	if v.Type.DType != ir.I32 {
		return p, false
	}
	switch o.Kind {
	case tile.Index:
		if o.Range == f.Key {
			p.key = 1
		} else {
			p.row = 1
		}
		return p, true
	case op.Add, op.Sub:
		a, okA := f.position(o.Args[0])
		b, okB := f.position(o.Args[1])
		if o.Kind == op.Add {
			b = position{}.minusOf(b)
		}
		return a.minusOf(b), okA && okB
	case tile.Repeat, op.Detach:
		return f.position(o.Args[0])
	}
	return p, false
}

// bounds are the limits in the group at hand.
func (x *attending) bounds(at attention.At) (out []attention.Limit) {
	x.in(attention.Lanes{N: 1}, func() {
		x.place(at, false, nil, false)
		index := func(v *tile.Value) kernel.Index { return kernel.Of(x.b.Convert(x.value(v), kernel.I64)) }
		for _, l := range x.limits {
			idx := kernel.Int(l.at.konst)
			for _, v := range l.at.plus {
				idx = idx.Add(index(v))
			}
			for _, v := range l.at.minus {
				idx = idx.Sub(index(v))
			}
			out = append(out, attention.Limit{Upper: l.upper, Row: l.row, At: idx})
		}
	})
	return out
}

// number is operand i where it is a constant, perhaps in another form.
func number(args []*tile.Value, i int) (float64, bool) {
	if i >= len(args) {
		return 0, false
	}
	switch o := args[i].Def; o.Kind {
	case tile.Const:
		return o.Const, true
	case op.Neg:
		c, ok := number(o.Args, 0)
		return -c, ok
	case tile.Repeat, op.Cast, op.Detach:
		return number(o.Args, 0)
	}
	return 0, false
}
