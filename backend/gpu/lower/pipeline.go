package lower

import (
	"slices"

	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
)

// run makes the loop, and gives the registers that it carries.
func (x *pipeline) run(from, to *thread.Value, at []*layout.Layout) (flat []*thread.Value) {
	init := x.all(x.Op.Args, at)
	sums := len(init)
	used := x.depth > 0 || x.UsesShared()
	if len(x.Tensors) > 0 {
		x.full = x.NewBarriers(x.Stages) // which nothing else lies over
	}
	x.Launch.Resident = max(x.Launch.Resident, x.Resident)
	x.Overlay(func() {
		for _, o := range x.Operands() {
			x.slots[o] = x.reserve(o.V, o.In, o.Slots)
		}
		x.prepare()
		if used {
			if len(x.Tensors) > 0 {
				x.FenceProxy()
			}
			x.Sync() // what was there before has been read
		}
		x.beginBarriers()
		x.prologue(from, to)
		carry := append(init[:sums:sums], x.i32(0)) // the slot of the iteration's copies
		if len(x.Tensors) > 0 {
			carry = append(carry, x.i32(0)) // the parity of its barrier's phase
		}
		if len(x.Computed) > 0 {
			carry = append(carry, x.i32(0)) // and of what it computes
		}
		flat = x.Loop(from, to, 1, carry, func(t *thread.Value, carry []*thread.Value) (next []*thread.Value) {
			x.within(func() { next = x.iteration(t, to, at, carry[:sums], carry[sums:]) })
			return next
		})[:sums]
		if x.Flight > 0 {
			x.AwaitProducts(0)
		}
		x.endBarriers()
		delete(x.first, x.Op.Range)
	})
	return flat
}

// prologue fills the slots of the first iterations.
func (x *pipeline) prologue(from, to *thread.Value) {
	for i := range x.Ahead() {
		if x.Copies() {
			x.copyAhead(x.Add(from, x.i32(int64(i))), to, x.i32(int64(i)))
		}
		if i == 0 {
			x.within(func() {
				x.enterBefore(from, to)
				x.compute(x.i32(0))
			})
		}
	}
}

// iteration is one of the loop, which reads the given slots.
func (x *pipeline) iteration(t, to *thread.Value, at []*layout.Layout, carry, slots []*thread.Value) (next []*thread.Value) {
	other := slots[len(slots)-1] // of the iteration behind
	if x.Stages == 1 {
		x.fillOnly(t, slots[0])
	} else {
		other = x.fillAhead(t, to, slots[0], other)
	}
	if len(x.Tensors) > 0 {
		x.AwaitBarrier(x.barrier(slots[0]), slots[1])
	}
	x.within(func() {
		x.enter(x.Op.Range, t)
		for _, o := range slices.Concat(x.Copied, x.Tensors) {
			x.placed[o.V] = x.slot(o, slots[0])
		}
		for _, o := range x.Computed {
			x.placed[o.V] = x.slot(o, slots[len(slots)-1])
		}
		next = x.multiply(at, carry)
	})
	if x.Stages > 1 && len(x.Computed) > 0 {
		x.enterBefore(x.Add(t, x.i32(1)), to)
		x.compute(other)
	}
	slot := slots[0]
	if x.Stages > 1 {
		slot = x.after(slot, x.Stages)
	}
	next = append(next, slot)
	if len(x.Tensors) > 0 {
		next = append(next, x.flip(slots[0], slots[1]))
	}
	if len(x.Computed) > 0 {
		next = append(next, other)
	}
	return next
}

// fillOnly fills the only slot, for the iteration t itself.
func (x *pipeline) fillOnly(t, slot *thread.Value) {
	x.Sync() // the iteration before has read
	x.within(func() {
		x.enter(x.Op.Range, t)
		x.copyTensors(slot, x.lead())
		if len(x.Copied) > 0 {
			x.copyAll(slot)
			x.Commit()
		}
		x.compute(x.i32(0))
	})
	if len(x.Copied) > 0 {
		x.Await(0)
	}
	x.show()
	x.Sync()
}

// fillAhead waits for the copies of iteration t, starts those of a later one, and loads what the next one computes, of
// which it gives the slot: that after other.
func (x *pipeline) fillAhead(t, to, slot, other *thread.Value) *thread.Value {
	if len(x.Copied) > 0 {
		x.Await(x.Ahead() - 1)
	}
	x.show()
	x.Sync()
	if x.Copies() {
		ahead := int64(x.Ahead())
		back := int64(x.Stages) - ahead
		x.copyAhead(x.Add(t, x.i32(ahead)), to, x.Select(x.Lt(slot, x.i32(back)), x.Add(slot, x.i32(ahead)), x.Sub(slot, x.i32(back))))
	}
	if len(x.Computed) > 0 {
		other = x.after(other, x.Computed[0].Slots)
		x.enterBefore(x.Add(t, x.i32(1)), to)
		for _, o := range x.Computed {
			x.preload(o.V, o.At, func(*tile.Op) bool { return true })
		}
	}
	return other
}

// multiply is the body of the loop, on top of carry. Products in flight are a group of their own, and those of the
// iteration before are done behind it.
func (x *pipeline) multiply(at []*layout.Layout, carry []*thread.Value) []*thread.Value {
	if x.Flight == 0 {
		x.body(x.Op, at, carry)
	} else {
		x.FenceProducts()
		x.flight = x.Pipeline
		x.body(x.Op, at, carry)
		x.flight = nil
		x.CommitProducts()
		x.AwaitProducts(x.Flight)
	}
	return x.all(x.Op.Loop.Body.Yield, at)
}

// show has products that run by themselves see what threads put into slots, behind the next barrier.
func (x *pipeline) show() {
	if x.Fenced() {
		x.FenceProxy()
	}
}

// enterBefore puts the range at block n, or at the last one where n is behind it: what is
// loaded there is not used.
func (x *pipeline) enterBefore(n, to *thread.Value) {
	x.enter(x.Op.Range, x.Max(x.Min(n, x.Sub(to, x.i32(1))), x.i32(0)))
}

// copyAhead starts the copies of block n, if there is one, into slots, as one group.
func (x *pipeline) copyAhead(n, to, slot *thread.Value) {
	x.When(x.Lt(n, to), func() {
		x.within(func() {
			x.enter(x.Op.Range, n)
			x.copyTensors(slot, x.lead())
			x.copyAll(slot)
		})
	})
	if len(x.Copied) > 0 {
		x.Commit()
	}
}
