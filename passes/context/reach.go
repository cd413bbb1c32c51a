package context

import (
	"math"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// reach is how far before a query the keys are that it sees: all that it sees are within.
// Behind it the distance is below 0.
type reach struct{ least, most int }

// anywhere is the reach of attention without a mask.
var anywhere = reach{math.MinInt, math.MaxInt}

// and is what both let through.
func (r reach) and(s reach) reach { return reach{max(r.least, s.least), min(r.most, s.most)} }

// or is what one of both lets through.
func (r reach) or(s reach) reach { return reach{min(r.least, s.least), max(r.most, s.most)} }

// meets reports whether it sees anything of a chunk of n keys, which begins so many
// positions before a chunk of as many queries.
func (r reach) meets(ahead, n int) bool { return ahead+n-1 >= r.least && ahead-n+1 <= r.most }

// reachOf is the reach of scores: elsewhere they are −inf.
func (w *rewriter) reachOf(scores *ir.Value, key string) reach {
	o := scores.Def
	if o == nil {
		return anywhere
	}
	hidden := func(v *ir.Value) bool { return fusion.IsConst(v, math.Inf(-1)) }
	switch o.Name {
	case op.Select:
		yes, no := w.where(o.Args[0], key, true), w.where(o.Args[0], key, false)
		switch {
		case hidden(o.Args[2]):
			return yes.and(w.reachOf(o.Args[1], key))
		case hidden(o.Args[1]):
			return no.and(w.reachOf(o.Args[2], key))
		}
		return yes.and(w.reachOf(o.Args[1], key)).or(no.and(w.reachOf(o.Args[2], key)))
	case op.Add:
		return w.reachOf(o.Args[0], key).and(w.reachOf(o.Args[1], key))
	case op.Mul, op.Div:
		switch {
		case positive(o.Args[1]):
			return w.reachOf(o.Args[0], key)
		case o.Name == op.Mul && positive(o.Args[0]):
			return w.reachOf(o.Args[1], key)
		}
	case op.Detach, op.Cast, op.Broadcast, op.Transpose:
		return w.reachOf(o.Args[0], key)
	}
	return anywhere
}

// where is the reach within which cond is so (not so, for holds = false).
func (w *rewriter) where(cond *ir.Value, key string, holds bool) reach {
	o := cond.Def
	if o == nil {
		return anywhere
	}
	switch o.Name {
	case op.Not:
		return w.where(o.Args[0], key, !holds)
	case op.And, op.Or:
		a, b := w.where(o.Args[0], key, holds), w.where(o.Args[1], key, holds)
		if holds == (o.Name == op.And) {
			return a.and(b)
		}
		return a.or(b)
	case op.Ge, op.Gt, op.Le, op.Lt, op.Eq:
		return w.compared(o, key, holds)
	}
	return anywhere
}

// compared is the reach within which a comparison of positions holds, or does not.
func (w *rewriter) compared(o *ir.Op, key string, holds bool) reach {
	x, y := w.linear(o.Args[0], key), w.linear(o.Args[1], key)
	if x == nil || y == nil {
		return anywhere
	}
	name, query, keys, more := o.Name, x.query-y.query, x.key-y.key, x.more-y.more
	if !holds {
		name = map[string]string{op.Ge: op.Lt, op.Gt: op.Le, op.Le: op.Gt, op.Lt: op.Ge}[name]
	}
	if query == -1 {
		query, keys, more = 1, -keys, -more
		name = map[string]string{op.Ge: op.Le, op.Gt: op.Lt, op.Le: op.Ge, op.Lt: op.Gt, op.Eq: op.Eq}[name]
	}
	if query != 1 || keys != -1 {
		return anywhere
	}
	switch name { // of the distance and −more
	case op.Ge:
		return reach{-more, math.MaxInt}
	case op.Gt:
		return reach{1 - more, math.MaxInt}
	case op.Le:
		return reach{math.MinInt, -more}
	case op.Lt:
		return reach{math.MinInt, -more - 1}
	case op.Eq:
		return reach{-more, -more}
	}
	return anywhere
}

// line is a sum of the positions of a query and a key, each so many times, and a number.
type line struct{ query, key, more int }

// linear is v as one, or nil.
func (w *rewriter) linear(v *ir.Value, key string) *line {
	switch w.position(v) {
	case w.axis:
		return &line{query: 1}
	case key:
		return &line{key: 1}
	}
	o := v.Def
	if o == nil || v.Type.DType != ir.I32 {
		return nil
	}
	switch o.Name {
	case op.Const:
		n := o.Attrs.Float("value", math.NaN())
		if n != math.Trunc(n) || math.Abs(n) > 1<<30 { // no sum with a position overflows
			return nil
		}
		return &line{more: int(n)}
	case op.Broadcast, op.Transpose:
		return w.linear(o.Args[0], key)
	case op.Add, op.Sub:
		a, b := w.linear(o.Args[0], key), w.linear(o.Args[1], key)
		if a == nil || b == nil {
			return nil
		}
		if o.Name == op.Sub {
			return &line{a.query - b.query, a.key - b.key, a.more - b.more}
		}
		return &line{a.query + b.query, a.key + b.key, a.more + b.more}
	}
	return nil
}
