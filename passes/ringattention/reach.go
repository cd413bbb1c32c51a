package ringattention

import (
	"math"

	"ptc/ir"
	"ptc/ir/fusion"
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

// masks reads masks of the logical positions of a query, the row, and a key.
func (w *rewriter) masks(key string) *fusion.Masks {
	return &fusion.Masks{Position: func(v *ir.Value) (p fusion.Affine, ok bool) {
		switch w.position(v) {
		case w.axis:
			return fusion.Affine{Row: 1}, true
		case key:
			return fusion.Affine{Key: 1}, true
		}
		return p, false
	}}
}

// reachOf is the reach within which c holds.
func reachOf(c fusion.Condition) reach {
	switch c.Is {
	case fusion.All:
		r := anywhere
		for _, x := range c.Of {
			r = r.and(reachOf(x))
		}
		return r
	case fusion.Any:
		r := reachOf(c.Of[0])
		for _, x := range c.Of[1:] {
			r = r.or(reachOf(x))
		}
		return r
	case fusion.AtLeast0:
		switch l := c.Limit; {
		case l.Row == 1 && l.Key == -1:
			return reach{int(-l.Const), math.MaxInt}
		case l.Row == -1 && l.Key == 1:
			return reach{math.MinInt, int(l.Const)}
		}
	}
	return anywhere
}

// behind reports whether c holds wherever the key is before the query.
func behind(c fusion.Condition) bool {
	return c.Needs(func(x fusion.Condition) bool {
		return x.Limit.Row == 1 && x.Limit.Key == -1 && x.Limit.Const >= -1
	}, nil)
}
