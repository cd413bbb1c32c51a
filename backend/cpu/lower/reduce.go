package lower

import (
	"math"
	"slices"

	"ptc/backend/kernel"
	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/op"
)

// fold is one way to combine elements into one.
type fold struct {
	combine    func(b *kernel.Builder, x, y *kernel.Value) *kernel.Value
	horizontal func(b *kernel.Builder, x *kernel.Value) *kernel.Value // of all lanes
	identity   func(d ir.DType) float64                               // what it starts from
}

var folds = map[tile.Kind]*fold{
	op.ReduceSum: {(*kernel.Builder).Add, (*kernel.Builder).ReduceAdd, func(ir.DType) float64 { return 0 }},
	op.ReduceMax: {(*kernel.Builder).Max, (*kernel.Builder).ReduceMax, least},
}

// least is what no number of d is below.
func least(d ir.DType) float64 {
	if d.IsFloat() {
		return math.Inf(-1)
	}
	lo, _ := d.Bounds()
	return lo
}

// chains is the number of independent accumulators of a long reduction: enough to cover
// the latency of an addition. The order of summation depends on sizes and the vector
// width alone: vectors in turn to chains, the rest to the first, then chains in halves,
// then lanes in halves.
const chains = 4

// start is u accumulators for each of reds, one chain after the other.
func (l *lowering) start(reds []*tile.Op, u int64) []*kernel.Value {
	var acc []*kernel.Value
	for range u {
		for _, o := range reds {
			d := o.Result().Type.DType
			acc = append(acc, l.b.Const(register(d, int(l.wide)), folds[o.Kind].identity(d)))
		}
	}
	return acc
}

// join combines the chains of the i-th of n reductions, and then their lanes.
func (l *lowering) join(o *tile.Op, acc []*kernel.Value, i, n int) *kernel.Value {
	var parts []*kernel.Value
	for ; i < len(acc); i += n {
		parts = append(parts, acc[i])
	}
	for len(parts) > 1 {
		half := len(parts) / 2
		for j := range half {
			parts[j] = folds[o.Kind].combine(l.b, parts[j], parts[j+half])
		}
		parts = parts[:half]
	}
	return folds[o.Kind].horizontal(l.b, parts[0])
}

// accumulate adds x to the accumulator of o; lanes beyond the end do not count.
func (l *lowering) accumulate(o *tile.Op, acc, x *kernel.Value) *kernel.Value {
	f := folds[o.Kind]
	x = l.b.Splat(x, acc.Type.Lanes)
	if l.mask != nil {
		x = l.b.Select(l.mask, x, l.b.Like(x, f.identity(o.Result().Type.DType)))
	}
	return f.combine(l.b, acc, x)
}

// vectors runs body over the positions of r: u vectors at a time with accumulators of
// their own, then single vectors, then the tail under a mask.
func (l *lowering) vectors(r *tile.Range, u int, acc []*kernel.Value, body func([]*kernel.Value) []*kernel.Value) []*kernel.Value {
	n := len(acc) / u
	l.lanes = int(l.wide)
	defer func() { l.lanes, l.mask = 1, nil }()
	lo, size := l.first[r], l.n[r]
	at := func(i kernel.Index, c []*kernel.Value) (out []*kernel.Value) {
		l.within(func() {
			l.at[r] = coord{idx: i, vec: true}
			out = body(c)
		})
		return out
	}
	step := l.wide * int64(u)
	done := size / step * step
	if done > 0 {
		span := kernel.Between(lo, lo.Plus(done)).By(step)
		if len(acc) == 0 {
			span = span.Unrolled(l.unroll)
		}
		acc = l.b.ForCarry(span, acc, func(i kernel.Index, c []*kernel.Value) []*kernel.Value {
			var out []*kernel.Value
			for j := range u {
				out = append(out, at(i.Plus(int64(j)*l.wide), c[j*n:(j+1)*n])...)
			}
			return out
		})
	}
	first := acc[:n]
	whole := size / l.wide * l.wide
	if whole > done {
		first = l.b.ForCarry(kernel.Between(lo.Plus(done), lo.Plus(whole)).By(l.wide), first, at)
	}
	if size > whole {
		l.mask = l.b.TailMask(kernel.Int(size-whole), int(l.wide))
		first = at(lo.Plus(whole), first)
	}
	return slices.Concat(first, acc[n:])
}

// foldTo lowers a reduction to a tile, or a product.
func (l *lowering) foldTo(o *tile.Op) {
	if o.Kind == tile.Dot {
		l.dot(o)
	} else {
		l.reduceTo(o)
	}
}

// dot lowers a product that is no kernel's root: loops over the result, in vectors along
// one dimension, and in them over what is summed, on top of the initial sum.
func (l *lowering) dot(o *tile.Op) {
	needed := l.demanded(o.Args...)
	var sum []*tile.Range
	for _, r := range o.Over {
		if r.Size > 1 {
			sum = append(sum, r)
		}
	}
	operand := func(i int) *kernel.Value { return l.b.Convert(l.b.Splat(l.value(o.Args[i]), l.lanes), kernel.F32) }
	total := func() *kernel.Value {
		acc := l.b.Const(kernel.Vec(kernel.F32, l.lanes), 0)
		if len(o.Args) == 3 {
			acc = operand(2)
		}
		return l.outerLoops(sum, sum, []*kernel.Value{acc}, needed, func(acc []*kernel.Value) []*kernel.Value {
			return []*kernel.Value{l.b.MulAdd(operand(0), operand(1), acc[0])}
		})[0]
	}
	if len(o.Result().Type.Dims) == 0 {
		x := total()
		l.leave(sum)
		l.know(o.Result(), x)
		return
	}
	to := l.home(o.Result())
	l.over(to.dims, sum, needed, func() {
		x := total()
		l.leave(sum)
		l.b.Store(to.ref(l.position).Masked(l.mask), x)
	})
	to.full = true
}

// reduceTo lowers a reduction to a tile, which goes into scratch. Where vectors lie along
// the result, each of its vectors is a loop over what is reduced; else each of its
// elements is.
func (l *lowering) reduceTo(o *tile.Op) {
	needed := l.demanded(o.Args...)
	vec := l.units.vector(o.Args[0].Type.Dims)
	kept := last(o.Result().Type.Dims, vec)
	reduced := last(slices.DeleteFunc(slices.Clone(o.Args[0].Type.Dims), o.Result().Type.Has), vec)
	l.keep(o.Result(), kept)
	to := l.kept[o.Result()]
	reds, all := []*tile.Op{o}, slices.Concat(kept, reduced)
	add := func(acc []*kernel.Value) []*kernel.Value {
		return []*kernel.Value{l.accumulate(o, acc[0], l.value(o.Args[0]))}
	}
	n := len(kept) - 1
	if kept[n] == vec {
		l.outerLoops(kept[:n], all, nil, needed, func([]*kernel.Value) []*kernel.Value {
			return l.vectors(vec, 1, nil, func([]*kernel.Value) []*kernel.Value {
				acc := l.outerLoops(reduced, reduced, l.start(reds, 1), needed, add)
				l.b.Store(to.ref(l.position).Masked(l.mask), acc[0])
				return nil
			})
		})
	} else {
		n := len(reduced) - 1
		l.outerLoops(kept, all, nil, needed, func([]*kernel.Value) []*kernel.Value {
			u := l.chainsOf(reduced[n])
			acc := l.outerLoops(reduced[:n], reduced, l.start(reds, u), needed, func(acc []*kernel.Value) []*kernel.Value {
				return l.vectors(vec, int(u), acc, add)
			})
			l.leave(reduced)
			r := to.ref(l.position)
			r.Stride = 1
			l.b.Store(r, l.join(o, acc, 0, 1))
			return nil
		})
	}
	l.leave(all)
	to.full = true
}
