package fusion

import (
	"math"

	"ptc/ir"
	"ptc/ir/op"
)

// Masks reads which scores masks of positions hide. A row is the position of a query.
type Masks struct {
	// Position is v as the position of a row or a key, or as a value that is the same for all rows
	// and keys, in Plus; false where v is neither. Sums of such are read without it.
	Position func(v *ir.Value) (Affine, bool)

	visited int
}

// Affine is an i32: positions of a row and a key, each so many times, a constant, and values that
// are the same for all rows and keys.
type Affine struct {
	Row, Key, Const int64
	Plus, Minus     []*ir.Value
}

// Less is p less q.
func (p Affine) Less(q Affine) Affine {
	join := func(x, y []*ir.Value) []*ir.Value { return append(append([]*ir.Value(nil), x...), y...) }
	return Affine{p.Row - q.Row, p.Key - q.Key, p.Const - q.Const, join(p.Plus, q.Minus), join(p.Minus, q.Plus)}
}

// Farthest bounds constants, and for readers the positions and the values of Plus and Minus, so that
// a sum of seven of them does not overflow.
const Farthest = 1 << 28

// mostOfMasks is how many operations are read; what is behind them is unknown.
const mostOfMasks = 1 << 10

// Condition is a condition of positions: without it a score is −∞.
type Condition struct {
	Is     Logic
	Of     []Condition // of All and Any
	Limit  Affine      // of AtLeast0
	Source Truth       // of a comparison: what it is made of
	// Hides is a select that gives Shown where the condition holds, and else −∞; or nil.
	Hides, Shown *ir.Value
}

// Logic is the kind of a condition.
type Logic uint8

// Kinds of conditions.
const (
	Unknown  Logic = iota // may hold for all rows and keys
	All                   // all of them hold
	Any                   // one of them holds
	AtLeast0              // the limit is not negative
)

// Truth is a value that is true, or false.
type Truth struct {
	Value *ir.Value
	Holds bool
}

// Needs calls take with each limit that c needs, in order, and reports whether c needs nothing but
// limits that were taken. It calls open with each select that hides by such limits alone, unless it
// is nil.
func (c Condition) Needs(take func(Condition) bool, open func(hides, shown *ir.Value)) bool {
	exact := false
	switch c.Is {
	case AtLeast0:
		exact = take(c)
	case All:
		exact = true
		for _, x := range c.Of {
			exact = x.Needs(take, open) && exact
		}
	}
	if exact && open != nil && c.Hides != nil {
		open(c.Hides, c.Shown)
	}
	return exact
}

// Scores is the condition without which scores v are −∞.
func (m *Masks) Scores(v *ir.Value) Condition {
	o := v.Def
	if m.visited++; o == nil || m.visited > mostOfMasks {
		return Condition{}
	}
	none := func(i int) bool { return IsConst(o.Args[i], math.Inf(-1)) }
	positive := func(i int) bool { c, ok := Literal(o.Args[i]); return ok && c > 0 && !math.IsInf(c, 1) }
	switch {
	case o.Name == op.Select && none(2):
		return m.hides(v, true, o.Args[1])
	case o.Name == op.Select && none(1):
		return m.hides(v, false, o.Args[2])
	case o.Name == op.Select:
		return Condition{Is: Any, Of: []Condition{
			{Is: All, Of: []Condition{m.Condition(o.Args[0], true), m.Scores(o.Args[1])}},
			{Is: All, Of: []Condition{m.Condition(o.Args[0], false), m.Scores(o.Args[2])}}}}
	case o.Name == op.Add:
		return Condition{Is: All, Of: []Condition{m.Scores(o.Args[0]), m.Scores(o.Args[1])}}
	case o.Name == op.Mul && positive(0):
		return m.Scores(o.Args[1])
	case o.Name == op.Mul && positive(1), o.Name == op.Div && positive(1), passes(o):
		return m.Scores(o.Args[0])
	}
	return Condition{}
}

// hides is the condition of v, a select that gives shown where its condition is holds, and else −∞.
func (m *Masks) hides(v *ir.Value, holds bool, shown *ir.Value) Condition {
	c := m.Condition(v.Def.Args[0], holds)
	c.Hides, c.Shown = v, shown
	return Condition{Is: All, Of: []Condition{c, m.Scores(shown)}}
}

// passes reports whether o's result is its operand, perhaps in another form.
func passes(o *ir.Op) bool {
	return o.Name == op.Cast || o.Name == op.Detach || op.Has(o, op.ByName)
}

// Condition is the condition under which v is true, or false where holds is.
func (m *Masks) Condition(v *ir.Value, holds bool) Condition {
	o := v.Def
	if m.visited++; o == nil || m.visited > mostOfMasks {
		return Condition{}
	}
	switch {
	case o.Name == op.Not:
		return m.Condition(o.Args[0], !holds)
	case o.Name == op.And, o.Name == op.Or:
		is := Any
		if holds == (o.Name == op.And) {
			is = All
		}
		return Condition{Is: is, Of: []Condition{m.Condition(o.Args[0], holds), m.Condition(o.Args[1], holds)}}
	case op.Has(o, op.ByName):
		return m.Condition(o.Args[0], holds)
	}
	return m.comparison(o, holds)
}

// otherwise is the comparison that holds where another does not.
var otherwise = map[string]string{op.Ge: op.Lt, op.Gt: op.Le, op.Le: op.Gt, op.Lt: op.Ge, op.Eq: op.Ne, op.Ne: op.Eq}

// comparison is the condition that o is of positions.
func (m *Masks) comparison(o *ir.Op, holds bool) Condition {
	kind := o.Name
	if otherwise[kind] == "" || o.Args[0].Type.DType != ir.I32 {
		return Condition{}
	}
	if !holds {
		kind = otherwise[kind]
	}
	a, okA := m.affine(o.Args[0])
	b, okB := m.affine(o.Args[1])
	if !okA || !okB {
		return Condition{}
	}
	least := func(x, y Affine, n int64) Condition { // x ≥ y + n
		d := x.Less(y)
		d.Const -= n
		return Condition{Is: AtLeast0, Limit: d, Source: Truth{o.Result(), holds}}
	}
	switch kind {
	case op.Ge:
		return least(a, b, 0)
	case op.Gt:
		return least(a, b, 1)
	case op.Le:
		return least(b, a, 0)
	case op.Lt:
		return least(b, a, 1)
	case op.Eq:
		return Condition{Is: All, Of: []Condition{least(a, b, 0), least(b, a, 0)}}
	}
	return Condition{Is: Any, Of: []Condition{least(a, b, 1), least(b, a, 1)}}
}

// affine is v as an affine function of positions, each at most once.
func (m *Masks) affine(v *ir.Value) (p Affine, ok bool) {
	if m.visited++; m.visited > mostOfMasks || v.Type.DType != ir.I32 {
		return p, false
	}
	if c, ok := Literal(v); ok {
		return Affine{Const: int64(c)}, c == math.Trunc(c) && math.Abs(c) <= Farthest
	}
	p, ok = m.Position(v)
	o := v.Def
	switch {
	case ok:
	case o == nil:
		return p, false
	case o.Name == op.Add, o.Name == op.Sub:
		a, okA := m.affine(o.Args[0])
		b, okB := m.affine(o.Args[1])
		if o.Name == op.Add {
			b = Affine{}.Less(b)
		}
		p, ok = a.Less(b), okA && okB
	case o.Name == op.Neg:
		p, ok = m.affine(o.Args[0])
		p = Affine{}.Less(p)
	case o.Name == op.Detach, op.Has(o, op.ByName):
		return m.affine(o.Args[0])
	}
	small := max(p.Row, -p.Row, p.Key, -p.Key) <= 1 && max(p.Const, -p.Const) <= Farthest
	return p, ok && small
}

// Literal is the number that v is, perhaps in another form; false where it is no constant.
func Literal(v *ir.Value) (float64, bool) {
	o := v.Def
	switch {
	case o == nil:
		return 0, false
	case o.Name == op.Const:
		return o.Attrs.Float("value", math.NaN()), true
	case o.Name == op.Neg:
		c, ok := Literal(o.Args[0])
		return -c, ok
	case passes(o):
		return Literal(o.Args[0])
	}
	return 0, false
}

// IsConst reports whether v is the number x, perhaps in another form.
func IsConst(v *ir.Value, x float64) bool {
	c, ok := Literal(v)
	return ok && c == x
}
