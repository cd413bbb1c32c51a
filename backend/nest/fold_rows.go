package nest

import (
	"maps"
	"math"
	"slices"

	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// byRows are tasks that have blocks of rows, and sum over keys. A larger score than all before
// scales what has been summed (Milakov, Gimelshein, "Online normalizer calculation for softmax",
// 2018, algorithm 3; Dao, "FlashAttention-2", 2023, algorithm 1).
//
//	grid (outer…, groups…, rows) {
//	  loop keys… { scores = dot …; top, sum; weights; acc = dot weights, … init acc·scale }
//	  acc / sum; store
//	}
func (f *folding) byRows() {
	rows := f.ranges(f.Rows, f.s.Rows)
	for _, r := range rows { // the longest tasks first: late rows see the most keys
		r.Reversed = slices.ContainsFunc(f.Limits, func(l fusion.Limit) bool { return l.Upper && l.Row })
	}
	f.phase(slices.Concat(f.ranges(f.Outer), f.ranges(f.Groups), rows, f.whole(f.Cols)), func() {
		carry := f.begin()
		for _, s := range f.keySpans(block(f.Key, f.s.Over).Size) {
			r := block(f.Key, f.s.Over)
			carry = f.visit(f.Key, r, s, carry, func(carry []*tile.Value) []*tile.Value {
				return f.step(r, f.running(carry)).flat()
			})
		}
		delete(f.at, f.Key.Name())
		f.finish(f.running(carry))
		f.storeAll()
	})
}

// running is what a loop over keys carries.
type running struct {
	top, sum *tile.Value   // over the rows; nil where there is none
	acc      []*tile.Value // of each product, the sum so far
}

func (r running) flat() []*tile.Value {
	var out []*tile.Value
	for _, v := range append([]*tile.Value{r.top, r.sum}, r.acc...) {
		if v != nil {
			out = append(out, v)
		}
	}
	return out
}

// running is flat by what it is.
func (f *folding) running(flat []*tile.Value) (r running) {
	if f.a.Top != nil {
		r.top, flat = flat[0], flat[1:]
	}
	if f.a.Sum != nil {
		r.sum, flat = flat[0], flat[1:]
	}
	r.acc = flat
	return r
}

// begin is before the first key.
func (f *folding) begin() []*tile.Value {
	var r running
	if f.a.Top != nil {
		v := f.a.Top.Result()
		r.top = f.b.Const(v.Type.DType, math.Inf(-1), f.along(v, f.all)...)
	}
	if f.a.Sum != nil {
		r.sum = f.zero(f.a.Sum.Result())
	}
	for _, o := range f.Outs {
		r.acc = append(r.acc, f.zero(o.Result()))
	}
	return r.flat()
}

// step takes the present keys in.
func (f *folding) step(keys *tile.Range, r running) running {
	var scale *tile.Value
	if f.a.Top != nil {
		r.top, scale = f.rise(keys, r.top)
	}
	if f.a.Sum != nil {
		e := f.over(f.a.Exp.Result(), f.along(f.a.Exp.Result(), f.all))
		sum := f.as(e, r.sum.Type.DType)
		if keys.Size > 1 {
			sum = f.b.Reduce(op.ReduceSum, sum, keys)
		}
		r.sum = f.b.Compute(op.Add, f.scaled(r.sum, scale), sum)
		if f.a.Norm != nil {
			f.know(f.a.Norm.Result(), e)
		}
	}
	r.acc = slices.Clone(r.acc)
	for i, o := range f.Outs {
		r.acc[i] = f.sum(o, f.scaled(r.acc[i], scale))
	}
	return r
}

// rise is the maximum of the scores so far and those of the present keys, and what scales sums
// from the old base to the new one, which is known from now on. Where no key has been seen the
// base is 0, so that exponentials are 0 and not NaN, and nothing has been summed.
func (f *folding) rise(keys *tile.Range, old *tile.Value) (top, scale *tile.Value) {
	v := f.a.Scores
	top = f.over(v, f.along(v, f.all))
	if keys.Size > 1 {
		top = f.b.Reduce(op.ReduceMax, top, keys)
	}
	top = f.b.Compute(op.Max, old, top)
	before, now := f.base(old), f.base(top)
	f.know(f.a.Base, now)
	acc := now.Type.DType.Acc()
	none := f.b.Compute(op.Eq, old, f.constant(old.Type.DType, math.Inf(-1)).x)
	scale = f.b.Compute(op.Exp, f.b.Compute(op.Sub, f.as(before, acc), f.as(now, acc)))
	return top, f.b.Compute(op.Select, none, f.constant(acc, 0).x, scale)
}

// base is the base of the maximum top, or 0 where that is −∞.
func (f *folding) base(top *tile.Value) *tile.Value {
	x := f.baseOf(top)
	least, zero := f.constant(x.Type.DType, math.Inf(-1)).x, f.constant(x.Type.DType, 0).x
	return f.b.Compute(op.Select, f.b.Compute(op.Eq, x, least), zero, x)
}

// baseOf is the base of the maximum top; what is computed of that is forgotten.
func (f *folding) baseOf(top *tile.Value) *tile.Value {
	n := len(f.scopes) - 1
	kept := map[*ir.Value]known{}
	maps.Copy(kept, f.scopes[n])
	f.know(f.a.Top.Result(), top)
	x := f.over(f.a.Base, f.along(f.a.Base, f.all))
	f.scopes[n] = kept
	return x
}

func (f *folding) scaled(x, by *tile.Value) *tile.Value {
	if by == nil {
		return x
	}
	return f.b.Compute(op.Mul, x, f.as(by, x.Type.DType))
}

// finish makes known what the results are made of. A row of which no key is seen has no result:
// its base less itself is NaN, as each of its exponentials is where none is left out.
func (f *folding) finish(r running) {
	var none *tile.Value
	if f.a.Top != nil {
		base := f.as(f.baseOf(r.top), f.a.Base.Type.DType.Acc())
		none = f.b.Compute(op.Sub, base, base)
		f.know(f.a.Top.Result(), r.top)
	}
	with := func(x *tile.Value) *tile.Value {
		if none == nil {
			return x
		}
		return f.b.Compute(op.Add, x, f.as(none, x.Type.DType))
	}
	if f.a.Sum != nil {
		r.sum = with(r.sum)
		f.know(f.a.Sum.Result(), f.as(r.sum, f.a.Sum.Result().Type.DType))
	}
	for i, o := range f.Outs {
		x := r.acc[i]
		if o.Divided {
			x = f.b.Compute(op.Div, x, f.as(r.sum, x.Type.DType))
		} else {
			x = with(x)
		}
		f.know(o.Result(), f.as(x, o.Result().Type.DType))
	}
}
