package attention

import (
	"math"

	"ptc/backend/kernel"
	"ptc/backend/kernel/vmath"
)

// sweep makes weights of the scores of the block, row by row.
func (x *block) sweep() {
	x.each(func(t kernel.Index) {
		lo, hi := x.lo, x.hi
		if x.split { // what products over keys read
			lo, hi = x.tile(t)
		}
		first := t.Mul(x.mr)
		end := first.Plus(x.mr)
		if !x.rows.IsConst() || x.rows.Const%x.mr != 0 {
			end = x.b.MinIndex(end, x.rows)
		}
		x.b.For(kernel.Between(first, end), func(r kernel.Index) {
			at := x.at
			at.Row = x.row.Add(r)
			x.Row(at, func() {
				y := &row{block: x, at: at, scores: r.Mul(x.scoreStride()).Sub(x.key0), slot: x.slot.Add(r)}
				y.cut(lo, hi)
				y.sweep(r)
			})
		})
	})
}

// row is a row of scores. Its keys lie in vectors: those from lo to a are 0, from a to b
// some are seen, from b to c all are, from c to d some, from d to hi they are 0.
type row struct {
	*block
	at     At
	scores kernel.Index // where the scores of key 0 would be
	slot   kernel.Index // number among acc's rows

	lo, a, b, c, d, hi kernel.Index
}

// cut finds the parts of the row within keys lo to hi, which other rows see as well.
func (y *row) cut(lo, hi kernel.Index) {
	y.lo, y.hi = y.floor(lo), y.ceil(hi)
	from, to := y.lo, hi
	if len(y.limits) > 0 {
		from, to = y.sees(y.at.Row, y.at.Row)
		from, to = y.block.b.MaxIndex(from, y.lo), y.block.b.MinIndex(to, hi)
		// A row that sees none has no vectors: of others, a part may not be computed.
		b := y.block.b
		some, none := y.less(from, to), b.Value(y.lo)
		from = kernel.Of(b.Select(some, b.Value(from), none))
		to = kernel.Of(b.Select(some, b.Value(to), none))
	}
	y.a, y.b, y.c, y.d = y.floor(from), y.ceil(from), y.floor(to), y.ceil(to)
	y.c = y.block.b.MaxIndex(y.c, y.b)
}

// parts runs body over the vectors that are seen, in order, with carried registers.
func (y *row) parts(init []*kernel.Value, body func(k kernel.Index, l Lanes, c []*kernel.Value) []*kernel.Value) []*kernel.Value {
	part := func(from, to kernel.Index, sure bool) {
		if n := to.Sub(from); n.IsConst() && n.Const <= 0 {
			return
		}
		init = y.block.b.ForCarry(kernel.Between(from, to).By(y.lanes), init, func(k kernel.Index, c []*kernel.Value) []*kernel.Value {
			l := Lanes{N: y.width, Sure: sure}
			if !sure && y.Keys%y.lanes != 0 {
				l.Mask = y.block.b.TailMask(kernel.Int(y.Keys).Sub(k), y.width)
			}
			return body(k, l, c)
		})
	}
	if y.bounded(false) {
		part(y.a, y.b, false)
	}
	part(y.b, y.c, true)
	if y.bounded(true) || y.Keys%y.lanes != 0 {
		part(y.c, y.d, false)
	}
	return init
}

func (y *row) place(i int, k kernel.Index) kernel.Ref { return y.mem.scores[i].At(y.scores.Add(k)) }

func (y *row) sweep(r kernel.Index) {
	b := y.block.b
	var base *kernel.Value
	if y.Top {
		base = y.largest(r)
	}
	var init []*kernel.Value
	if y.Sum {
		init = append(init, b.F32(0, y.width))
	}
	weights := y.weights()
	sums := y.parts(init, func(k kernel.Index, l Lanes, c []*kernel.Value) []*kernel.Value {
		at := y.at
		at.Key = k
		var x []*kernel.Value
		if !y.Top || y.Keep {
			x = y.products(k)
		}
		if y.Top {
			x = append(x, b.Load(y.place(y.scoreAt(), k), y.width))
		}
		e, w := y.Weights(at, x, base, l)
		hide := func(v *kernel.Value) *kernel.Value {
			v = b.Splat(v, y.width)
			if l.Mask != nil {
				v = b.Select(l.Mask, v, b.Like(v, 0))
			}
			return v
		}
		for i := range weights {
			b.Store(y.place(i, k), hide(w[i]))
		}
		if y.Sum {
			return []*kernel.Value{b.Add(c[0], hide(e))}
		}
		return nil
	})
	y.hide(weights)
	if y.Sum {
		y.addSum(r, sums[0])
	}
}

// products are the results of Into at the vector of keys from k on.
func (y *row) products(k kernel.Index) []*kernel.Value {
	x := make([]*kernel.Value, len(y.Into))
	for i := range x {
		x[i] = y.block.b.Load(y.place(i, k), y.width)
	}
	return x
}

// largest finds the score that is the largest of the row so far, and what sums are to be
// multiplied by; the result is the base of the exponentials.
func (y *row) largest(r kernel.Index) *kernel.Value {
	b := y.block.b
	inf := math.Inf(-1)
	v := y.parts([]*kernel.Value{b.Const(kernel.Vec(kernel.F32, y.width), inf)}, func(k kernel.Index, l Lanes, c []*kernel.Value) []*kernel.Value {
		at := y.at
		at.Key = k
		s := b.Splat(y.Score(at, y.products(k), l), y.width)
		if l.Mask != nil {
			s = b.Select(l.Mask, s, b.Like(s, inf))
		}
		b.Store(y.place(y.scoreAt(), k), s)
		return []*kernel.Value{larger(b, c[0], s)}
	})[0]
	at := y.mem.top.At(y.slot)
	old := b.Load(at, 1)
	top := larger(b, old, horizontal(b, v, larger))
	b.Store(at, top)
	base := finite(b, y.Base(top))
	// What has no score yet has no sums. Else the base is not below the old one.
	scale := vmath.ExpNormal(b, b.Sub(finite(b, y.Base(old)), base))
	scale = b.Select(b.Eq(old, b.Like(old, inf)), b.Like(old, 0), scale)
	b.Store(y.mem.scale.At(r), scale)
	return base
}

// larger is the larger of x and y, x where one is no number.
func larger(b *kernel.Builder, x, y *kernel.Value) *kernel.Value {
	return b.Select(b.Lt(x, y), y, x)
}

// finite is base, or 0 where no key has been seen: the exponentials are then 0.
func finite(b *kernel.Builder, base *kernel.Value) *kernel.Value {
	return b.Select(b.Eq(base, b.Like(base, math.Inf(-1))), b.Like(base, 0), base)
}

// horizontal combines the halves of x until one lane is left.
func horizontal(b *kernel.Builder, x *kernel.Value, f func(b *kernel.Builder, x, y *kernel.Value) *kernel.Value) *kernel.Value {
	for n := x.Type.Lanes / 2; n > 0; n /= 2 {
		lo, hi := make([]int, n), make([]int, n)
		for l := range n {
			lo[l], hi[l] = l, l+n
		}
		x = f(b, b.Shuffle(x, x, lo...), b.Shuffle(x, x, hi...))
	}
	return x
}

// addSum adds the exponentials of the block to those of the row.
func (y *row) addSum(r kernel.Index, e *kernel.Value) {
	b := y.block.b
	at := y.mem.sum.At(y.slot.Mul(y.lanes))
	sum := b.Load(at, y.width)
	if y.Top {
		sum = b.Mul(sum, b.Splat(b.Load(y.mem.scale.At(r), 1), y.width))
	}
	b.Store(at, b.Add(sum, e))
}

// hide makes the weights of keys that other rows see 0.
func (y *row) hide(weights int) {
	if len(y.limits) == 0 {
		return
	}
	b := y.block.b
	zero := b.F32(0, y.width)
	fill := func(from, to kernel.Index) {
		if n := to.Sub(from); n.IsConst() && n.Const <= 0 {
			return
		}
		b.For(kernel.Between(from, to).By(y.lanes), func(k kernel.Index) {
			for i := range weights {
				b.Store(y.place(i, k), zero)
			}
		})
	}
	to := y.hi
	if !y.split { // a tile of keys may reach past the last
		to = to.Plus(ceil(y.mr, y.lanes) * y.lanes)
	}
	fill(y.lo, y.a)
	fill(y.d, to)
}
