package nest

import (
	"slices"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// limit is a comparison of positions that hides keys: those above the bound where upper holds,
// else those below. The bound, included, is at, and where row holds the row's position more.
type limit struct {
	upper, row bool
	at         fusion.Affine
	of         fusion.Truth
}

// limits is what hides keys from the rows along an axis.
type limits struct {
	*gen
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
// a key with score −∞ may be other than 0 in one of the products outs.
func (g *gen) limitsBy(rows []string, outs []*ir.Op) *limits {
	l := &limits{gen: g, rows: rows}
	for _, o := range outs {
		if w, _ := g.weights(o); !g.vanishes(w) {
			return l
		}
	}
	for _, x := range g.k.Space {
		if x.Size > fusion.Farthest {
			return l
		}
	}
	m := fusion.Masks{Position: l.position}
	m.Scores(g.k.Attention.Exp.Args[0].Def.Args[0]).Needs(l.take, func(masked, all *ir.Value) {
		l.open = append(l.open, mask{masked, all})
	})
	return l
}

// vanishes reports whether v is 0 where the exponential is.
func (g *gen) vanishes(v *ir.Value) bool {
	if !g.scored(v) {
		return false
	}
	o, a := v.Def, g.k.Attention
	of := func(i int) bool { return g.vanishes(o.Args[i]) }
	zero := func(i int) bool { return fusion.IsConst(o.Args[i], 0) }
	switch {
	case o == a.Exp || o == a.Norm:
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

// take takes a limit where it bounds keys.
func (l *limits) take(c fusion.Condition) bool {
	d := c.Limit
	x := limit{row: d.Row != 0, of: c.Source}
	switch {
	case d.Key == -1 && (d.Row == 0 || d.Row == 1): // key ≤ row + rest
		x.upper, x.at = true, d
	case d.Key == 1 && (d.Row == 0 || d.Row == -1): // key ≥ row − rest
		x.at = fusion.Affine{}.Less(d)
	default:
		return false
	}
	if len(x.at.Plus)+len(x.at.Minus) > 3 || max(x.at.Const, -x.at.Const) > fusion.Farthest {
		return false
	}
	l.found = append(l.found, x)
	return true
}

// position is v where it is a position of the whole tensor, or does not vary in a group. A position
// of a sharded axis has itself in Plus, for the first one that the device has.
func (l *limits) position(v *ir.Value) (p fusion.Affine, ok bool) {
	if !l.varies(v) {
		return fusion.Affine{Plus: []*ir.Value{v}}, !l.scored(v)
	}
	o := v.Def
	if o == nil || o.Name != op.Index {
		return p, false
	}
	axis := v.Type.Axes[0]
	p.Const = int64(op.FirstOf(o, 0))
	if axis.Name == l.k.Attention.Key.Name {
		p.Key = 1
	} else {
		p.Row = 1
	}
	if len(axis.Mesh) > 0 {
		p.Plus = []*ir.Value{v}
	}
	return p, true
}

func (l *limits) varies(v *ir.Value) bool {
	return v.Type.Has(l.k.Attention.Key.Name) || slices.ContainsFunc(l.rows, v.Type.Has)
}

// same is a value of Plus or Minus.
func (l *limits) same(v *ir.Value) known {
	if l.varies(v) {
		first, _ := l.offset(v.Type.Axes[0])
		return first
	}
	return l.find(v)
}
