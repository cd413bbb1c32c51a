package nest

import (
	"math"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// limit is a comparison of positions that hides keys: those above the bound where upper holds,
// else those below. The bound, included, is at, and where row holds the row's position more.
type limit struct {
	upper, row bool
	at         position
}

// position is an i32 as an affine function of the positions of row and key.
type position struct {
	row, key, konst int64
	plus, minus     []func() known // what does not vary in a group
}

func (p position) minusOf(q position) position {
	join := func(x, y []func() known) []func() known {
		return append(append([]func() known(nil), x...), y...)
	}
	return position{p.row - q.row, p.key - q.key, p.konst - q.konst, join(p.plus, q.minus), join(p.minus, q.plus)}
}

// farthest is the largest position and constant, and what numbers that are known at run time are
// not above, with which bounds are i32 and exact: five of them are added up at most.
const farthest = 1 << 28

// limits is what hides keys from the rows along an axis.
type limits struct {
	*folding
	rows  []string // the axes that are cut as one; there may be none
	found []limit
	// open are the masks that are nothing but comparisons found: where these hold, each is the
	// other value.
	open []mask
}

// mask is scores of which some are −∞, and the same scores before.
type mask struct{ masked, all *ir.Value }

// upper reports whether bounds are from above alone, and there are any.
func (l *limits) upper() bool {
	return len(l.found) > 0 && !slices.ContainsFunc(l.found, func(x limit) bool { return !x.upper })
}

// limitsBy finds what bounds the keys that a position of rows sees: nothing where the weights of
// a key with score −∞ may be other than 0.
func (f *folding) limitsBy(rows []string) *limits {
	l := &limits{folding: f, rows: rows}
	for _, o := range f.outs {
		if w, _ := f.weights(o); !f.vanishes(w) {
			return l
		}
	}
	for _, x := range f.k.Space {
		if x.Size > farthest {
			return l
		}
	}
	l.score(f.a.Exp.Args[0].Def.Args[0])
	return l
}

// vanishes reports whether v is 0 where the exponential is.
func (f *folding) vanishes(v *ir.Value) bool {
	if !f.scored(v) {
		return false
	}
	o := v.Def
	of := func(i int) bool { return f.vanishes(o.Args[i]) }
	zero := func(i int) bool { c, ok := literal(o.Args[i]); return ok && c == 0 }
	switch {
	case o == f.a.Exp || o == f.a.Norm:
		return true
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

// score finds what makes v −∞.
func (l *limits) score(v *ir.Value) {
	o := v.Def
	if !l.scored(v) {
		return
	}
	none := func(i int) bool { c, ok := literal(o.Args[i]); return ok && math.IsInf(c, -1) }
	positive := func(i int) bool { c, ok := literal(o.Args[i]); return ok && c > 0 }
	switch {
	case o.Name == op.Select && none(2):
		l.mask(v, o.Args[0], true, o.Args[1])
	case o.Name == op.Select && none(1):
		l.mask(v, o.Args[0], false, o.Args[2])
	case o.Name == op.Add:
		l.score(o.Args[0])
		l.score(o.Args[1])
	case o.Name == op.Mul && positive(0):
		l.score(o.Args[1])
	case o.Name == op.Mul && positive(1), o.Name == op.Div && positive(1),
		o.Name == op.Detach, o.Name == op.Cast, op.Has(o, op.ByName):
		l.score(o.Args[0])
	}
}

// mask is v, which is all where cond is as when says, and else −∞.
func (l *limits) mask(v, cond *ir.Value, when bool, all *ir.Value) {
	if l.condition(cond, when) {
		l.open = append(l.open, mask{v, all})
	}
	l.score(all)
}

// condition finds the comparisons that v being as when says needs, and reports whether it needs
// nothing else.
func (l *limits) condition(v *ir.Value, when bool) bool {
	o := v.Def
	if _, view := l.k.Views[v]; view || o == nil {
		return false
	}
	switch {
	case o.Name == op.Not:
		return l.condition(o.Args[0], !when)
	case o.Name == op.And && when, o.Name == op.Or && !when:
		x, y := l.condition(o.Args[0], when), l.condition(o.Args[1], when)
		return x && y
	case op.Has(o, op.ByName):
		return l.condition(o.Args[0], when)
	}
	return l.comparison(o, when)
}

// otherwise is the comparison that holds where another does not.
var otherwise = map[string]string{op.Ge: op.Lt, op.Gt: op.Le, op.Le: op.Gt, op.Lt: op.Ge}

// comparison takes o for a limit where it compares positions so that it bounds keys: of x ≥ y
// the difference x−y, of a row's position less a key's or of a key's less a row's.
func (l *limits) comparison(o *ir.Op, when bool) bool {
	kind := o.Name
	if !when {
		kind = otherwise[kind]
	}
	if len(o.Args) != 2 || o.Args[0].Type.DType != ir.I32 {
		return false
	}
	a, okA := l.position(o.Args[0])
	b, okB := l.position(o.Args[1])
	if !okA || !okB {
		return false
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
		return false
	}
	x := limit{row: d.row != 0}
	switch {
	case d.key == -1 && (d.row == 0 || d.row == 1): // key ≤ row + rest
		x.upper, x.at = true, d
	case d.key == 1 && (d.row == 0 || d.row == -1): // key ≥ row − rest
		x.at = position{}.minusOf(d)
	default:
		return false
	}
	if len(x.at.plus)+len(x.at.minus) > 3 || max(x.at.konst, -x.at.konst) > farthest {
		return false
	}
	l.found = append(l.found, x)
	return true
}

// position is v as an affine function of positions.
func (l *limits) position(v *ir.Value) (p position, ok bool) {
	o := v.Def
	if !v.Type.Has(l.key()) && !slices.ContainsFunc(l.rows, v.Type.Has) {
		if c, ok := literal(v); ok {
			return position{konst: int64(c)}, c == math.Trunc(c) && math.Abs(c) <= farthest
		}
		return position{plus: []func() known{func() known { return l.find(v) }}}, !l.scored(v)
	}
	if _, view := l.k.Views[v]; view || o == nil || v.Type.DType != ir.I32 {
		return p, false
	}
	switch {
	case o.Name == op.Index:
		return l.index(o), true
	case o.Name == op.Add || o.Name == op.Sub:
		a, okA := l.position(o.Args[0])
		b, okB := l.position(o.Args[1])
		if o.Name == op.Add {
			b = position{}.minusOf(b)
		}
		return a.minusOf(b), okA && okB
	case o.Name == op.Detach, op.Has(o, op.ByName):
		return l.position(o.Args[0])
	}
	return p, false
}

func (l *limits) key() string { return l.a.Key.Name }

// index is the position that o counts, in the whole tensor.
func (l *limits) index(o *ir.Op) position {
	axis := o.Result().Type.Axes[0]
	p := position{konst: int64(op.FirstOf(o, 0))}
	if axis.Name == l.key() {
		p.key = 1
	} else {
		p.row = 1
	}
	if len(axis.Mesh) > 0 {
		p.plus = append(p.plus, func() known {
			first, _ := l.offset(axis)
			return first
		})
	}
	return p
}

// literal is v where it is a constant, perhaps in another form.
func literal(v *ir.Value) (float64, bool) {
	o := v.Def
	switch {
	case o == nil:
		return 0, false
	case o.Name == op.Const:
		return o.Attrs.Float("value", math.NaN()), true
	case o.Name == op.Neg:
		c, ok := literal(o.Args[0])
		return -c, ok
	case o.Name == op.Cast, o.Name == op.Detach, op.Has(o, op.ByName):
		return literal(o.Args[0])
	}
	return 0, false
}
