package lower

import (
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/thread"
)

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
