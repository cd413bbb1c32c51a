package fusion

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// AttentionLoops are the loops of an attention around some of its products of weights, and what bounds them.
//
//	for Outer { for Inner, Groups, Rows { for Key { scores, weights, sums } } }
//
// Where the products are over rows, those and the keys change places.
type AttentionLoops struct {
	Outs   []*Out
	Outer  []Loop // problems that share no result
	Inner  []Loop // problems that the products sum over
	Groups []Loop // loops of rows besides Rows
	Rows   []Loop // the loop of rows that is tiled, if there is one: that by which most masks compare positions, or the largest
	Key    Loop   // even if there is one key
	Cols   []Loop // axes of operands that the scores do not have
	Bounds        // of the keys that a position of Rows sees
}

// Bounds is what hides keys from the positions of a loop of rows.
type Bounds struct {
	Limits []Limit
	Open   []Mask // nothing but Limits, in order

	k    *Kernel
	rows []string
}

// Limit is a comparison of positions that hides keys: where Source does not hold, the score is −∞. It
// hides those above a bound where Upper holds, else those below. The bound, included, is At, and where
// Row holds the row's position more.
type Limit struct {
	Upper, Row bool
	At         Affine
	Source     Truth
}

// Mask is scores of which some are −∞, and the same scores before.
type Mask struct{ Masked, All *ir.Value }

// AttentionLoops are those of attention k around outs.
func (k *Kernel) AttentionLoops(outs []*Out) *AttentionLoops {
	a := k.Attention
	l := &AttentionLoops{Outs: outs, Key: Loop{[]string{a.Key.Name}, int64(a.Key.Size)}}
	var outer, inner []ir.Axis
	for _, x := range a.Both {
		if slices.ContainsFunc(outs, func(o *Out) bool { return slices.Contains(o.Attrs.Names("over"), x.Name) }) {
			inner = append(inner, x)
		} else {
			outer = append(outer, x)
		}
	}
	l.Outer, l.Inner = k.Loops(outer), k.Loops(inner)
	rows, best, most := k.Loops(a.Rows), -1, -1
	for i, r := range rows {
		b := k.bounds(r.Axes, outs)
		if n := b.ofRows(); n > most || n == most && r.Size > rows[best].Size {
			best, most, l.Bounds = i, n, b
		}
	}
	if l.Rows, l.Groups = take(rows, best); best < 0 {
		l.Bounds = k.bounds(nil, outs)
	}
	for _, o := range a.Into {
		l.columns(o.Args...)
	}
	for _, o := range outs {
		l.columns(o.Of)
	}
	return l
}

// All are all loops.
func (l *AttentionLoops) All() []Loop {
	return slices.Concat(l.Outer, l.Inner, l.Groups, l.Rows, []Loop{l.Key}, l.Cols)
}

// Columns are loops over the axes of an operand that the scores do not have.
func (l *AttentionLoops) Columns(operand *ir.Value) []Loop {
	return l.k.Loops(slices.DeleteFunc(slices.Clone(operand.Type.Axes), func(a ir.Axis) bool {
		return slices.ContainsFunc(l.k.Space, func(b ir.Axis) bool { return a.Name == b.Name })
	}))
}

func (l *AttentionLoops) columns(operands ...*ir.Value) {
	for _, v := range operands {
		for _, c := range l.Columns(v) {
			if !slices.ContainsFunc(l.Cols, func(d Loop) bool { return c.Name() == d.Name() }) {
				l.Cols = append(l.Cols, c)
			}
		}
	}
}

// bounds are those by masks that compare positions of keys with those of rows, axes that are one
// loop: none where weights of a key with score −∞ may be other than 0 in one of outs.
func (k *Kernel) bounds(rows []string, outs []*Out) Bounds {
	b := Bounds{k: k, rows: rows}
	if slices.ContainsFunc(outs, func(o *Out) bool { return !o.Vanishes }) ||
		slices.ContainsFunc(k.Space, func(x ir.Axis) bool { return x.Size > Farthest }) {
		return b
	}
	m := Masks{Position: b.position}
	m.Scores(k.Attention.Scores).Needs(b.take, func(masked, all *ir.Value) {
		b.Open = append(b.Open, Mask{masked, all})
	})
	return b
}

// ofRows is how many limits depend on the row's position.
func (b *Bounds) ofRows() (n int) {
	for _, l := range b.Limits {
		if l.Row {
			n++
		}
	}
	return n
}

// Varies reports whether v is not the same for all keys and rows of the loop.
func (b *Bounds) Varies(v *ir.Value) bool {
	return v.Type.Has(b.k.Attention.Key.Name) || slices.ContainsFunc(b.rows, v.Type.Has)
}

// take takes a limit where it bounds keys.
func (b *Bounds) take(c Condition) bool {
	d := c.Limit
	x := Limit{Row: d.Row != 0, Source: c.Source}
	switch {
	case d.Key == -1 && (d.Row == 0 || d.Row == 1): // key ≤ row + rest
		x.Upper, x.At = true, d
	case d.Key == 1 && (d.Row == 0 || d.Row == -1): // key ≥ row − rest
		x.At = Affine{}.Less(d)
	default:
		return false
	}
	if len(x.At.Plus)+len(x.At.Minus) > 3 || max(x.At.Const, -x.At.Const) > Farthest {
		return false
	}
	b.Limits = append(b.Limits, x)
	return true
}

// position is v where it is a position in the entire tensor, or does not vary. A position of a
// sharded axis has itself in Plus, for the first one that the device has.
func (b *Bounds) position(v *ir.Value) (p Affine, ok bool) {
	if !b.Varies(v) {
		return Affine{Plus: []*ir.Value{v}}, !b.k.Attention.from[v].scores
	}
	o := v.Def
	if o == nil || o.Name != op.Index {
		return p, false
	}
	axis := v.Type.Axes[0]
	p.Const = int64(op.FirstOf(o, 0))
	if axis.Name == b.k.Attention.Key.Name {
		p.Key = 1
	} else {
		p.Row = 1
	}
	if len(axis.Mesh) > 0 {
		p.Plus = []*ir.Value{v}
	}
	return p, true
}
