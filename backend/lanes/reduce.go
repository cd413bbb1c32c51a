package lanes

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
// the latency of an addition.
const chains = 4

// reductions lowers reductions of the same ranges to scalars as one sweep. The order of
// summation depends on sizes and the vector width alone: vectors in turn to chains, the
// rest to the first, then chains in halves, then lanes in halves.
func (l *lowering) reductions(group []*tile.Op) {
	var dims []*tile.Range
	for _, r := range group[0].Over {
		if r.Size > 1 {
			dims = append(dims, r)
		}
	}
	slices.SortStableFunc(dims, func(a, b *tile.Range) int { return l.rank(group[0], a) - l.rank(group[0], b) })
	var roots []*tile.Value
	for _, o := range group {
		roots = append(roots, o.Args[0])
	}
	needed := l.needed(roots)
	l.check(needed)
	if l.unrolled(needed) != nil {
		l.fail("found a reduction of a carried tile; it is not lowered yet")
		return
	}
	if len(dims) == 0 {
		for _, o := range group {
			l.know(o.Result(), l.value(o.Args[0]))
		}
		return
	}
	inner, outer := dims[len(dims)-1], dims[:len(dims)-1]
	u := int64(1)
	if l.n[inner] >= 2*chains*l.wide {
		u = chains
	}
	var acc []*kernel.Value
	for range u {
		for _, o := range group {
			d := o.Result().Type.DType
			acc = append(acc, l.b.Const(register(d, int(l.wide)), folds[o.Kind].identity(d)))
		}
	}
	acc = l.outerLoops(outer, dims, acc, needed, func(acc []*kernel.Value) []*kernel.Value {
		return l.chained(inner, int(u), acc, func(acc []*kernel.Value) []*kernel.Value {
			out := make([]*kernel.Value, len(group))
			for i, o := range group {
				out[i] = l.accumulate(o, acc[i], l.value(o.Args[0]))
			}
			return out
		})
	})
	l.leave(dims)
	for i, o := range group {
		l.know(o.Result(), l.join(o, acc, i, len(group)))
	}
}

// rank is where r is among the dimensions of o's operand.
func (l *lowering) rank(o *tile.Op, r *tile.Range) int { return slices.Index(o.Args[0].Type.Dims, r) }

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

// chained runs over r: u vectors at a time with accumulators of their own, then single
// vectors, then the tail under a mask.
func (l *lowering) chained(r *tile.Range, u int, acc []*kernel.Value, body func([]*kernel.Value) []*kernel.Value) []*kernel.Value {
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
		acc = l.b.ForCarry(kernel.Between(lo, lo.Plus(done)).By(step), acc, func(i kernel.Index, c []*kernel.Value) []*kernel.Value {
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
