package lower

import (
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
)

// layouts are those in which values are carried: that which they have, or the natural one.
func (l *lowering) layouts(vs []*tile.Value) []*layout.Layout {
	out := make([]*layout.Layout, len(vs))
	for i, v := range vs {
		if out[i] = l.held[v]; out[i] == nil {
			out[i] = l.natural(v.Type.Dims)
		}
	}
	return out
}

// carried are the layouts in which loop o carries its tiles: sums as products of its body, or of a
// loop in it, have them.
func (l *lowering) carried(o *tile.Op) []*layout.Layout {
	out := l.layouts(o.Args)
	for i, v := range o.Loop.Carry {
		if at := l.summed(v, o.Loop.Body); at != nil {
			out[i] = at
		} else if at := l.reduced(o.Loop.Body.Yield[i], o.Loop.Body); at != nil {
			out[i] = at
		}
	}
	return out
}

// reduced is the layout of a reduction of products in body that v is made of, or nil.
func (l *lowering) reduced(v *tile.Value, body *tile.Block) *layout.Layout {
	for _, o := range body.Ops {
		if !slices.Contains(reductions, o.Kind) || !madeOf(v, o.Result()) {
			continue
		}
		x := o.Args[0]
		for _, d := range dots(body) {
			if madeOf(x, d.Result()) {
				return over(l.product(d).at, x.Type.Dims, o.Result().Type.Dims)
			}
		}
	}
	return nil
}

// folds reports whether a loop in body reduces what it multiplies.
func folds(body *tile.Block) bool {
	return slices.ContainsFunc(body.Ops, func(o *tile.Op) bool {
		if o.Loop == nil {
			return false
		}
		return folds(o.Loop.Body) || slices.ContainsFunc(o.Loop.Body.Ops, func(r *tile.Op) bool {
			return slices.Contains(reductions, r.Kind) && slices.ContainsFunc(dots(o.Loop.Body), func(d *tile.Op) bool { return madeOf(r.Args[0], d.Result()) })
		})
	})
}

// summed is the layout of a product in body that adds to v, or to what is computed of it element by
// element, or nil.
func (l *lowering) summed(v *tile.Value, body *tile.Block) *layout.Layout {
	for _, o := range body.Ops {
		switch {
		case o.Kind == tile.Dot && len(o.Args) == 3 && madeOf(o.Args[2], v):
			return l.product(o).at
		case o.Kind == tile.For:
			for i, a := range o.Args {
				if a == v {
					return l.summed(o.Loop.Carry[i], o.Loop.Body)
				}
			}
		}
	}
	return nil
}

func (l *lowering) all(vs []*tile.Value, at []*layout.Layout) (flat []*thread.Value) {
	for i, v := range vs {
		flat = append(flat, l.value(v, at[i])...)
	}
	return flat
}

// spread holds values whose registers are in flat, one behind the other.
func (l *lowering) spread(vs []*tile.Value, at []*layout.Layout, flat []*thread.Value) {
	for i, v := range vs {
		n := at[i].Regs()
		l.hold(v, at[i], flat[:n])
		flat = flat[n:]
	}
}

// madeOf reports whether x is v, or is computed of it and as many others element by element.
func madeOf(x, v *tile.Value) bool {
	if x == v || x.Def == nil || len(x.Type.Dims) != len(v.Type.Dims) || !elementwise.Known(x.Def.Kind) {
		return x == v
	}
	return slices.ContainsFunc(x.Def.Args, func(a *tile.Value) bool { return madeOf(a, v) })
}

// ahead puts operands of the products of loop o that come from before it into shared memory now, and
// not in each turn.
func (l *lowering) ahead(o *tile.Op) {
	inner := map[*tile.Value]bool{}
	for _, v := range o.Loop.Carry {
		inner[v] = true
	}
	defined(o.Loop.Body, inner)
	for _, d := range dots(o.Loop.Body) {
		for i, v := range d.Args[:2] {
			if !inner[v] {
				l.share(v, l.memory(l.product(d), i))
			}
		}
	}
}

// defined adds the tiles that a block of operations makes, and those in it.
func defined(body *tile.Block, to map[*tile.Value]bool) {
	if body == nil {
		return
	}
	for _, o := range body.Ops {
		for _, v := range o.Results {
			to[v] = true
		}
		defined(o.Then, to)
		defined(o.Else, to)
		if o.Loop != nil {
			defined(o.Loop.Body, to)
		}
	}
}

// bounds are the blocks that loop o begins with and ends before.
func (l *lowering) bounds(o *tile.Op) (from, to *thread.Value) {
	r := o.Range
	from, to = l.i32(0), l.i32(r.Blocks())
	if v := o.Loop.From; v != nil { // the block that position From is in
		x := l.b.Min(l.b.Max(l.scalar(v), l.i32(0)), l.i32(r.Extent))
		from = l.b.Select(l.b.Lt(x, l.i32(r.Extent)), l.b.Div(x, l.i32(r.Size)), to)
	}
	if v := o.Loop.To; v != nil {
		x := l.b.Min(l.b.Max(l.scalar(v), l.i32(0)), l.i32(r.Extent))
		to = l.b.Div(l.b.Add(x, l.i32(r.Size-1)), l.i32(r.Size))
	}
	if r.Reversed && (o.Loop.From != nil || o.Loop.To != nil) {
		l.fail("found a loop from the last block to the first with bounds; it has no code for GPUs")
	}
	return from, to
}

// loop visits the blocks of a range. Its bounds are the same for all threads.
func (l *lowering) loop(o *tile.Op) {
	l.ahead(o)
	at := l.carried(o)
	from, to := l.bounds(o)
	turns := l.turns
	if l.main != nil && l.main.loop() == o {
		turns = func(_ *tile.Op, from, to *thread.Value, at []*layout.Layout) []*thread.Value {
			return l.main.turns(from, to, at)
		}
	}
	var flat []*thread.Value
	l.b.Near(l.near(o), func() { flat = turns(o, from, to, at) })
	l.spread(o.Results, at, flat)
}

// turns makes loop o for the blocks [from, to), and gives the registers that it carries.
func (l *lowering) turns(o *tile.Op, from, to *thread.Value, at []*layout.Layout) []*thread.Value {
	if x := l.pipeline(o); x != nil {
		return x.run(from, to, at)
	}
	var flat []*thread.Value
	one := func(i *thread.Value, carry []*thread.Value) (next []*thread.Value) {
		l.within(func() {
			l.depth++
			defer func() { l.depth-- }()
			l.enter(o.Range, i)
			l.spread(o.Loop.Carry, at, carry)
			l.block(o.Loop.Body)
			next = l.all(o.Loop.Body.Yield, at)
		})
		return next
	}
	init := l.all(o.Args, at)
	l.b.Overlay(func() { flat = l.b.Loop(from, to, 1, init, one) }) // whoever writes to shared memory waits before
	delete(l.first, o.Range)
	for _, v := range o.Loop.Carry {
		delete(l.held, v)
	}
	return flat
}

// scalar is the number that a tile without dimensions is.
func (l *lowering) scalar(v *tile.Value) *thread.Value {
	return l.value(v, l.natural(nil))[0]
}

// branch runs one of two blocks of code, for all threads of the task.
func (l *lowering) branch(o *tile.Op) {
	at := l.layouts(o.Results)
	arm := func(body *tile.Block) func() []*thread.Value {
		return func() (out []*thread.Value) {
			l.within(func() {
				l.block(body)
				out = l.all(body.Yield, at)
			})
			return out
		}
	}
	flat := l.b.If(l.scalar(o.Args[0]), arm(o.Then), arm(o.Else))
	l.spread(o.Results, at, flat)
}
