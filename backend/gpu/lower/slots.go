package lower

import (
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
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

// prepare computes, before the loop, what addresses of copies have in common, and loads what computed
// operands are made of and does not change in the loop.
func (x *pipeline) prepare() {
	r := x.Op.Range
	x.first[r] = x.i32(0)
	for _, o := range x.Copied {
		load, dims := o.V.Def, o.V.Type.Dims
		index := x.index(load, assign.StridesOf(load, dims, o.At), o.At)
		from := x.At(x.args[load.View.Buffer].Pointer, index)
		to := x.reach(x.slots[o], dims, o.At)
		for n := 0; n < o.At.Regs(); n += o.Width {
			to.at(to.number(n)) // is known from here on
		}
		x.copies[o] = &asyncCopy{from, to}
	}
	delete(x.first, r)
	for _, o := range x.Computed {
		x.preload(o.V, o.At, func(o *tile.Op) bool { return !x.Inside(o.Result()) })
	}
}

// copyAll starts the copies of the present block by all threads.
func (x *pipeline) copyAll(slot *thread.Value) {
	n := kernel.Of(x.Convert(x.first[x.Op.Range], kernel.I64))
	for _, o := range x.Copied {
		dims := o.V.Type.Dims
		s := assign.StridesOf(o.V.Def, dims, o.At)
		in, have := x.exists(o.At, dims), x.have(o, s)
		from := x.At(x.copies[o].from, n.Mul(o.Each))
		a := thread.Access{N: o.Width}
		once := x.once(o.At)
		for r := 0; r < o.At.Regs(); r += o.Width {
			if in != nil {
				a.If = in(r)
			}
			if have != nil {
				a.Have = have(r)
			}
			reach := x.copies[o].to
			to := reach.at(reach.number(r))
			if o.Slots > 1 {
				to = x.Within(to, x.Mul(slot, x.i32(int64(o.In.Elems))))
			}
			x.CopyAsync(to, x.At(from, kernel.Int(s.Offset(r))), a, once)
		}
	}
}

// have is, for each register from which on a copy has its elements, how many of them there are; nil where all are: only
// padding may be copied with others.
func (x *pipeline) have(o *assign.Operand, s *assign.Strides) func(r int) *thread.Value {
	for d, r := range o.V.Type.Dims {
		if limit := x.limit(r); limit != nil && s.Past(d, o.Width) > 0 {
			left := x.Sub(limit, x.coordinate(o.At, d))
			return func(n int) *thread.Value {
				return x.Min(x.Sub(left, x.i32(int64(o.At.Offset(n, d)))), x.i32(int64(o.Width)))
			}
		}
	}
	return nil
}

// compute computes the present block of what is not copied, and stores it to slots.
func (x *pipeline) compute(slot *thread.Value) {
	for _, o := range x.Computed {
		x.reach(x.slot(o, slot), o.V.Type.Dims, o.At).write(x.complete(o.V, o.At, 0), x.once(o.At))
	}
}

// copyTensors starts the copies of the present block into a slot, for which its barrier waits, by the thread for which lead
// holds; nil is the only one here.
func (x *pipeline) copyTensors(slot, lead *thread.Value) {
	if len(x.Tensors) == 0 {
		return
	}
	full, bytes := x.barrier(slot), 0
	for _, o := range x.Tensors {
		bytes += o.Tensor.Bytes
	}
	x.Expect(full, bytes, lead)
	for _, o := range x.Tensors {
		t := o.Tensor
		at := make([]*thread.Value, len(t.Axes))
		for i, a := range t.Axes {
			at[i] = x.position(o.V.Def.At[a])
		}
		first := at[0]
		to := x.slot(o, slot).mem
		each := o.In.Elems / t.Pieces
		for p := range t.Pieces {
			at[0] = x.Add(first, x.i32(int64(p*o.In.Sizes[t.Fast]/t.Pieces)))
			x.CopyTensor(to.Plus(int64(p*each)), x.tensorMap(o), at, full, lead)
		}
	}
}

// tensorMap is the map by which o is copied.
func (x *pipeline) tensorMap(o *assign.Operand) thread.Map {
	all := o.Tensor.Maps
	m := x.maps[all[0]]
	for i, cond := range x.args[o.V.Def.View.Buffer].conds {
		m = m.Or(cond, x.maps[all[i+1]])
	}
	return m
}

// beginBarriers makes the barriers of the slots.
func (x *pipeline) beginBarriers() {
	if len(x.Tensors) == 0 {
		return
	}
	lead := x.lead()
	for i := range x.Stages {
		x.InitBarrier(x.full.Plus(int64(i)), 1, lead)
	}
	x.FenceBarriers()
}

// endBarriers has barriers made anew where the loop runs again.
func (x *pipeline) endBarriers() {
	if len(x.Tensors) == 0 || x.depth == 0 {
		return
	}
	x.Sync() // no thread waits any more
	for i := range x.Stages {
		x.EndBarrier(x.full.Plus(int64(i)), x.lead())
	}
}
