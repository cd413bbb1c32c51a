package lower

import (
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

// loop visits the blocks of a range. Its bounds are the same for all threads.
func (l *lowering) loop(o *tile.Op) {
	r := o.Range
	at := l.layouts(o.Args)
	from, to := l.i32(0), l.i32(r.Blocks())
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
		return
	}
	var flat []*thread.Value
	one := func(i *thread.Value, carry []*thread.Value) (next []*thread.Value) {
		l.within(func() {
			l.enter(r, i)
			l.spread(o.Loop.Carry, at, carry)
			l.block(o.Loop.Body)
			next = l.all(o.Loop.Body.Yield, at)
		})
		return next
	}
	init := l.all(o.Args, at)
	l.b.Overlay(func() { flat = l.b.Loop(from, to, 1, init, one) }) // whoever writes to shared memory waits before
	delete(l.first, r)
	for _, v := range o.Loop.Carry {
		delete(l.held, v)
	}
	l.spread(o.Results, at, flat)
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
