package lower

import (
	"slices"

	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
)

// unrolled is how many multiply-adds of a thread are one behind the other at most, before there is a
// loop. Where an operand is contiguous along the axis that is summed, four of its positions take
// registers at once: an assembler that sees more of them reads ahead until it has none left.
const (
	unrolled      = 1024
	unrolledAlong = 256
)

// multiply adds the products at all positions of the contracted ranges, of which operands are zero
// beyond the end.
func (l *lowering) multiply(x product, over []*tile.Range, a, b *reach, left, right placed, acc []*thread.Value) []*thread.Value {
	if len(over) == 0 {
		return l.step(x, a, b, nil, nil, acc)
	}
	r, last := over[0], len(over) == 1
	p, q := left.bits(r), right.bits(r)
	unit, most := 1, unrolled
	if len(p) > 0 && (p[0] == 1 || q[0] == 1) {
		most = unrolledAlong
	}
	if last {
		for unit < l.size(r) && (2*unit*len(acc) <= most || unit < 4) {
			unit *= 2
		}
	}
	inner := func(a, b *reach) []*thread.Value {
		if !last {
			return l.multiply(x, over[1:], a, b, left, right, acc)
		}
		n := 0
		for 1<<n < unit {
			n++
		}
		return l.step(x, a, b, p[:n], q[:n], acc)
	}
	if unit >= l.size(r) && last {
		return inner(a, b)
	}
	skip := 0
	for 1<<skip < unit {
		skip++
	}
	turns := (r.Size + int64(unit) - 1) / int64(unit)
	return l.b.Loop(l.i32(0), l.i32(turns), 1, acc, func(i *thread.Value, carry []*thread.Value) []*thread.Value {
		acc = carry
		return inner(a.moved(i, p[skip:]), b.moved(i, q[skip:]))
	})
}

// step multiplies at 2ⁿ positions of a contracted range, p and q being what the n bits of them
// bring in the operands. Where an operand is contiguous along it, four of its positions are
// one access; a row is read, and multiplied by all columns of the thread, before the next.
func (l *lowering) step(x product, a, b *reach, p, q []int, acc []*thread.Value) []*thread.Value {
	group := 0 // bits of the positions that are read at once
	if len(p) > 0 && (p[0] == 1 || q[0] == 1) {
		group = min(2, len(p))
	}
	order := make([]int, len(acc))
	for r := range order {
		order[r] = r
	}
	slices.SortStableFunc(order, func(r, s int) int { return a.number(r) - a.number(s) })
	acc = slices.Clone(acc)
	for first := 0; first < 1<<len(p); first += 1 << group {
		u, v := a.reader(slices.Concat(a.regs, p[:group])), b.reader(slices.Concat(b.regs, q[:group]))
		for from := 0; from < len(order); {
			to := from
			for to < len(order) && a.number(order[to]) == a.number(order[from]) {
				to++
			}
			for k := first; k < first+1<<group; k++ {
				for _, r := range order[from:to] {
					acc[r] = l.b.FMA(u.get(a.number(r)^sum(p, k)), v.get(b.number(r)^sum(q, k)), acc[r])
				}
			}
			from = to
		}
	}
	return acc
}

// sum is the exclusive or of those of the bases whose bit is set in n.
func sum(bases []int, n int) int {
	a := 0
	for i, b := range bases {
		if n>>i&1 != 0 {
			a ^= b
		}
	}
	return a
}
