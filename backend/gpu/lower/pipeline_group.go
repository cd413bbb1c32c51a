package lower

import (
	"slices"

	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
)

// groups sees to products of warpgroups, which run by themselves. A loop that does nothing but multiply
// waits in each turn for the products of the turn before, so that multiplying never pauses, and needs a slot more: that which a turn fills was read
// two turns before, as all threads know at its barrier.
func (x *pipeline) groups(multiplies bool) {
	if !multiplies || x.stages < 3 {
		return
	}
	for _, o := range x.o.Loop.Body.Ops {
		if o.Kind == tile.Dot && (!x.product(o).group || len(o.Args) < 3) {
			return
		}
	}
	x.flight = 1
	for _, o := range x.computed {
		o.slots = 3
	}
}

// ahead is how many turns before its own a copy starts.
func (x *pipeline) ahead() int { return x.stages - 1 - x.flight }

// after is the slot behind slot n of so many.
func (x *pipeline) after(n *thread.Value, slots int) *thread.Value {
	if slots == 2 {
		return x.b.Xor(n, x.i32(1))
	}
	return x.b.Select(x.b.Eq(n, x.i32(int64(slots-1))), x.i32(0), x.b.Add(n, x.i32(1)))
}

// show has products that run by themselves see what threads put into slots, behind the next barrier.
func (x *pipeline) show() {
	if slices.ContainsFunc(slices.Concat(x.copied, x.computed), func(o *operand) bool { return o.in.Span > 0 }) {
		x.b.FenceProxy()
	}
}

// multiplyAll is the body of the loop. Products that fly are a group of their own, and those of the
// turn before are done behind it.
func (x *pipeline) multiplyAll() {
	l := x.lowering
	if x.flight == 0 {
		l.block(x.o.Loop.Body)
		return
	}
	l.b.FenceProducts()
	l.flying, l.carry = true, x.o.Loop.Carry
	l.block(x.o.Loop.Body)
	l.flying, l.carry = false, nil
	l.b.CommitProducts()
	l.b.AwaitProducts(x.flight)
}
