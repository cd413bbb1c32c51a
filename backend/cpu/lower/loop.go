package lower

import (
	"slices"

	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// inside are the blocks of o.
func inside(o *tile.Op) []*tile.Block {
	switch {
	case o.Loop != nil:
		return []*tile.Block{o.Loop.Body}
	case o.Kind == tile.If:
		return []*tile.Block{o.Then, o.Else}
	}
	return nil
}

// carried is what a loop carries: some tiles in registers, the others, of too many
// vectors, in scratch.
type carried struct {
	like []*registers // of each; nil for those in scratch
}

func (l *lowering) carriedBy(o *tile.Op) carried {
	c := carried{like: make([]*registers, len(o.Args))}
	for i, a := range o.Args {
		c.like[i], _ = l.registersFor(a.Type.Dims)
	}
	return c
}

// split are those of vs that are in registers, and how, and those in scratch.
func (c carried) split(vs []*tile.Value) (regs []*tile.Value, like []*registers, rest []*tile.Value) {
	for i, v := range vs {
		if c.like[i] != nil {
			regs, like = append(regs, v), append(like, c.like[i])
		} else {
			rest = append(rest, v)
		}
	}
	return regs, like, rest
}

// loop lowers a loop: over its full blocks, and then the rest of the last one.
func (l *lowering) loop(o *tile.Op) {
	c := l.carriedBy(o)
	first, like, rest := c.split(o.Args)
	inside, _, homes := c.split(o.Loop.Carry)
	next, _, moved := c.split(o.Loop.Body.Yield)
	results, _, left := c.split(o.Results)
	acc := l.evaluate(first, like)
	for i, v := range rest {
		l.fill(v, l.home(homes[i]))
	}
	l.before(o.Loop.Body)
	acc = l.iterate(o, acc, func(acc []*kernel.Value) (out []*kernel.Value) {
		l.apart(func() {
			l.hold(inside, like, acc)
			l.block(o.Loop.Body)
			out = l.evaluate(next, like)
			l.move(moved, homes)
		})
		return out
	})
	l.hold(results, like, acc)
	for i, v := range left {
		l.kept[v] = l.kept[homes[i]]
	}
}

// iterate runs body for each block that o visits, with the registers that it carries.
func (l *lowering) iterate(o *tile.Op, acc []*kernel.Value, body func([]*kernel.Value) []*kernel.Value) []*kernel.Value {
	r := o.Range
	full := r.Extent / r.Size * r.Size // positions in full blocks
	rest := r.Extent - full
	at := func(n int64) func(i kernel.Index, c []*kernel.Value) []*kernel.Value {
		return func(i kernel.Index, c []*kernel.Value) []*kernel.Value {
			l.first[r], l.n[r] = i, n
			return body(c)
		}
	}
	bounded := o.Loop.From != nil || o.Loop.To != nil
	switch {
	case bounded && r.Reversed:
		l.fail("found a reversed loop with computed bounds; it is not lowered yet")
	case bounded:
		return l.bounded(o, acc, at)
	case r.Reversed:
		if rest > 0 {
			acc = at(rest)(kernel.Int(full), acc)
		}
		return l.b.ForCarry(kernel.Span(full).By(r.Size), acc, func(i kernel.Index, c []*kernel.Value) []*kernel.Value {
			return at(r.Size)(kernel.Int(full-r.Size).Sub(i), c)
		})
	case full == r.Size:
		acc = at(r.Size)(kernel.Int(0), acc)
	default:
		acc = l.b.ForCarry(kernel.Span(full).By(r.Size), acc, at(r.Size))
	}
	if rest > 0 {
		acc = at(rest)(kernel.Int(full), acc)
	}
	return acc
}

// bounded iterates where the bounds are computed.
func (l *lowering) bounded(o *tile.Op, acc []*kernel.Value, at func(n int64) func(kernel.Index, []*kernel.Value) []*kernel.Value) []*kernel.Value {
	b, r := l.b, o.Range
	full := r.Extent / r.Size * r.Size
	number := func(n int64) *kernel.Value { return b.ConstInt(kernel.Scalar(kernel.I64), n) }
	from, to := number(0), number(r.Extent)
	if v := o.Loop.From; v != nil {
		from = b.Max(b.Convert(l.value(v), kernel.I64), from)
	}
	if v := o.Loop.To; v != nil {
		to = b.Convert(l.value(v), kernel.I64)
	}
	size := number(r.Size)
	lo, hi := b.Mul(b.Div(from, size), size), b.Min(to, number(full))
	acc = b.ForCarry(kernel.Between(kernel.Of(lo), kernel.Of(hi)).By(r.Size), acc, at(r.Size))
	if full == r.Extent {
		return acc
	}
	visits := b.And(b.Gt(to, number(full)), b.Lt(from, number(r.Extent)))
	return b.If(visits, func() []*kernel.Value { return at(r.Extent-full)(kernel.Int(full), acc) },
		func() []*kernel.Value { return acc })
}

// branch lowers an if. Scalars that it gives are in registers, tiles in scratch.
func (l *lowering) branch(o *tile.Op) {
	c := carried{like: make([]*registers, len(o.Results))}
	for i, v := range o.Results {
		if len(v.Type.Dims) == 0 {
			c.like[i] = &registers{}
		}
	}
	scalars, like, tiles := c.split(o.Results)
	for _, inner := range inside(o) {
		l.before(inner)
	}
	for _, v := range tiles {
		l.home(v)
	}
	arm := func(b *tile.Block) func() []*kernel.Value {
		return func() (out []*kernel.Value) {
			l.apart(func() {
				l.block(b)
				vs, _, rest := c.split(b.Yield)
				out = l.evaluate(vs, like)
				for i, v := range rest {
					l.fill(v, l.kept[tiles[i]])
				}
			})
			return out
		}
	}
	vals := l.b.If(l.value(o.Args[0]), arm(o.Then), arm(o.Else))
	l.hold(scalars, like, vals)
	for _, v := range tiles {
		l.kept[v].full = true
	}
}

// apart runs body, which may not be run, or is run again: what it computes or puts into
// scratch is not there behind it.
func (l *lowering) apart(body func()) {
	full := map[*scratch]bool{}
	for _, k := range l.kept {
		full[k] = k.full
	}
	l.within(body)
	for _, k := range l.kept {
		k.full = full[k]
	}
}

// home is scratch for v.
func (l *lowering) home(v *tile.Value) *scratch {
	l.keep(v, last(v.Type.Dims, l.units.vector(v.Type.Dims)))
	return l.kept[v]
}

// fill puts v into scratch.
func (l *lowering) fill(v *tile.Value, to *scratch) {
	needed := l.demanded(v)
	l.over(to.dims, nil, needed, func() { l.b.Store(to.ref(l.position).Masked(l.mask), l.b.Splat(l.value(v), l.lanes)) })
	to.full = true
}

// over runs body at all positions of dims, in vectors along the last; inner are ranges of loops in it.
func (l *lowering) over(dims, inner []*tile.Range, needed []*tile.Value, body func()) {
	n := len(dims) - 1
	l.outerLoops(dims[:n], slices.Concat(dims, inner), nil, needed, func([]*kernel.Value) []*kernel.Value {
		return l.vectors(dims[n], 1, nil, func([]*kernel.Value) []*kernel.Value { body(); return nil })
	})
	l.leave(dims)
}

// move puts the tiles vs into the scratch of homes: all are computed before the first is
// put there, since they may be computed from what is there.
func (l *lowering) move(vs, homes []*tile.Value) {
	from := make([]*scratch, len(vs))
	for i, v := range vs {
		if from[i] = l.kept[v]; from[i] == nil || !from[i].full || slices.Contains(homes, v) {
			if l.spare[homes[i]] == nil {
				k := *l.kept[homes[i]]
				k.buf = l.b.Scratch("next", k.buf.Elem, k.buf.Len)
				l.spare[homes[i]] = &k
			}
			from[i] = l.spare[homes[i]]
			from[i].dims = l.kept[homes[i]].dims
			l.fill(v, from[i])
		}
	}
	for i, h := range homes {
		to := l.kept[h]
		l.over(to.dims, nil, nil, func() {
			l.b.Store(to.ref(l.position).Masked(l.mask), l.b.Load(from[i].ref(l.position).Masked(l.mask), l.lanes))
		})
	}
}
