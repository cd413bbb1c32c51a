package lower

import (
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/thread"
)

// pipeline makes a loop whose operands are put into shared memory before the iteration that multiplies them.
// With three stages:
//
//	copy 0 | copy 1 | wait 0, sync, copy 2, multiply 0 | wait 1, sync, copy 3, multiply 1 | …
//
// Copies go into slots in turn. The slot that an iteration fills is the one that the iteration before has read, so one
// barrier is enough. A computed operand is loaded to registers before the products of the iteration before its own, and
// computed and stored behind them, into the other one of two slots.
type pipeline struct {
	*task
	*assign.Pipeline
	slots  map[*assign.Operand]placed     // the first of each
	copies map[*assign.Operand]*asyncCopy // by all threads
	full   thread.Shared                  // the barriers of the slots that one thread fills
}

// asyncCopy is what the copies of an operand have in common, computed before the loop: where one reads if the loop's range is
// at 0, and where it writes.
type asyncCopy struct {
	from thread.Pointer
	to   *reach
}

// pipelined is how t makes a loop.
func pipelined(t *task, how *assign.Pipeline) *pipeline {
	return &pipeline{task: t, Pipeline: how, slots: map[*assign.Operand]placed{}, copies: map[*assign.Operand]*asyncCopy{}}
}

// slot is the memory of a slot of o.
func (x *pipeline) slot(o *assign.Operand, n *thread.Value) placed {
	p := x.slots[o]
	if o.Slots > 1 {
		p.mem = x.Within(p.mem, x.Mul(n, x.i32(int64(o.In.Elems))))
	}
	return p
}

// after is the slot behind slot n of so many.
func (x *pipeline) after(n *thread.Value, slots int) *thread.Value {
	if slots == 2 {
		return x.Xor(n, x.i32(1))
	}
	return x.Select(x.Eq(n, x.i32(int64(slots-1))), x.i32(0), x.Add(n, x.i32(1)))
}

// flip is the parity of the phase which the barrier of the slot behind a slot is in, whose own has the given one.
func (x *pipeline) flip(slot, parity *thread.Value) *thread.Value {
	return x.Xor(parity, x.Select(x.Eq(slot, x.i32(int64(x.Stages-1))), x.i32(1), x.i32(0)))
}

// barrier is that of a slot.
func (x *pipeline) barrier(slot *thread.Value) thread.Shared {
	if x.Stages == 1 {
		return x.full
	}
	return x.Within(x.full, slot)
}
