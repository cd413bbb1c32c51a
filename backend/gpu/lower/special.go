package lower

import (
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
)

// special is a phase of specialized warps. One thread of a further warpgroup copies ahead, into slots that take turns
// and through the end of a task into the next one; the others multiply, and store while it goes on:
//
//	copy:      0 1 2 3 4 5 | 0 1 2 3 4 5 | …            waits until a slot is empty, fills it
//	multiply:      0 1 2 3 4 5 store | 0 1 2 3 4 5 store …    waits until it is full, empties it
//
// Each slot has two barriers. That of full slots counts bytes, that of empty ones the warps whose products have
// read it. Blocks of threads take tasks in turn, so that the slots are never all empty but at the first task
// (CUTLASS, "Efficient GEMM in CUDA", on warp specialization and persistent kernels).
type special struct {
	*pipeline
	empty thread.Shared
	// The slot that is next, and the parity of its barrier of full slots.
	nextSlot, nextParity *thread.Value
}

const (
	// producerWarps are a warpgroup, since registers are given to whole ones, of which one thread copies.
	producerWarps = 4
	// producerRegisters are what that thread needs, and mostRegisters what others have at most: a thread may have 255.
	producerRegisters = 40
	mostRegisters     = 240
	// fileRegisters is how many registers a multiprocessor has that can specialize warps.
	fileRegisters = 64 << 10
)

func (x *special) loop() *tile.Op { return x.Op }

// run makes the kernel, and gives the number of its blocks.
func (x *special) run() int64 {
	lanes, warps := x.phase.Threads.Lanes, x.phase.Threads.Warps
	threads := lanes * warps
	x.Launch.Threads, x.Launch.Resident = threads+lanes*producerWarps, max(1, assign.ResidentWarps/2/warps)
	tasks := assign.Tasks(x.phase.Tile)
	grid := tasks
	if n := x.phase.Program.Schedule.Persistent; n > 0 {
		grid = min(grid, n)
	}
	x.full, x.empty = x.NewBarriers(x.Stages), x.NewBarriers(x.Stages)
	for _, o := range x.Tensors {
		x.slots[o] = x.reserve(o.V, o.In, x.Stages)
	}
	lead := x.lead()
	for i := range int64(x.Stages) {
		x.InitBarrier(x.full.Plus(i), 1, lead)
		x.InitBarrier(x.empty.Plus(i), warps, lead)
	}
	x.FenceBarriers()
	x.Sync() // barriers are made
	// The slot, and the parity of its barrier, go on from task to task.
	begin := []*thread.Value{x.i32(0), x.i32(0)}
	all := func(one func()) {
		x.Loop(x.Special(thread.Block), x.i32(tasks), grid, begin, func(n *thread.Value, carry []*thread.Value) []*thread.Value {
			x.nextSlot, x.nextParity = carry[0], carry[1]
			x.within(func() {
				x.locate(x.phase, n)
				one()
			})
			return []*thread.Value{x.nextSlot, x.nextParity}
		})
	}
	copies, multiplies := x.registers(x.Launch)
	produces := x.Le(x.i32(int64(threads)), x.Special(thread.Thread))
	x.If(produces, func() []*thread.Value {
		if multiplies > 0 {
			x.Registers(copies, false)
		}
		x.When(x.Eq(x.Special(thread.Thread), x.i32(int64(threads))), func() { all(x.produce) })
		return nil
	}, func() []*thread.Value {
		if multiplies > 0 {
			x.Registers(multiplies, true)
		}
		x.shared = x
		x.Among(threads, func() { all(func() { x.block(x.phase.Tile.Body) }) })
		x.shared = nil
		return nil
	})
	return grid
}

// registers is how many a thread has that copies, and that multiplies; 0 where all have enough.
func (x *special) registers(l thread.Launch) (copies, multiplies int) {
	each := fileRegisters / (l.Threads * l.Resident) / 8 * 8
	lanes := x.phase.Threads.Lanes
	others := lanes * x.phase.Threads.Warps
	more := (each*l.Threads - producerRegisters*lanes*producerWarps) / others / 8 * 8
	if each >= mostRegisters {
		return 0, 0
	}
	return producerRegisters, min(more, mostRegisters)
}

// produce copies for all iterations of a task, as slots are empty.
func (x *special) produce() {
	from, to := x.bounds(x.Op)
	out := x.Loop(from, to, 1, []*thread.Value{x.nextSlot, x.nextParity}, func(t *thread.Value, carry []*thread.Value) (next []*thread.Value) {
		x.within(func() {
			slot, parity := carry[0], carry[1]
			// Of a barrier of which no phase is complete, that before the first one counts as such.
			x.AwaitBarrier(x.Within(x.empty, slot), x.Xor(parity, x.i32(1)))
			x.enter(x.Op.Range, t)
			x.copyTensors(slot, nil)
			next = x.next(slot, parity)
		})
		return next
	})
	x.nextSlot, x.nextParity = out[0], out[1]
}

// iterate multiplies what is copied. The products of an iteration are under way in the next one, and empty their slot then.
func (x *special) iterate(from, to *thread.Value, at []*layout.Layout) []*thread.Value {
	init := x.all(x.Op.Args, at)
	sums := len(init)
	first := x.Eq(x.Special(thread.Lane), x.i32(0))
	out := x.Loop(from, to, 1, append(init, x.nextSlot, x.nextParity), func(t *thread.Value, carry []*thread.Value) (next []*thread.Value) {
		x.within(func() {
			slot, parity := carry[sums], carry[sums+1]
			x.AwaitBarrier(x.Within(x.full, slot), parity)
			x.enter(x.Op.Range, t)
			for _, o := range x.Tensors {
				x.placed[o.V] = x.slot(o, slot)
			}
			next = x.multiply(at, carry[:sums])
			x.Arrive(x.Within(x.empty, x.before(slot)), x.And(first, x.Lt(from, t)))
			next = append(next, x.next(slot, parity)...)
		})
		return next
	})
	x.nextSlot, x.nextParity = out[sums], out[sums+1]
	x.AwaitProducts(0)
	x.Arrive(x.Within(x.empty, x.before(x.nextSlot)), first)
	delete(x.first, x.Op.Range)
	return out[:sums]
}

// next is the slot behind a slot, and the parity of its barrier's phase.
func (x *special) next(slot, parity *thread.Value) []*thread.Value {
	return []*thread.Value{x.after(slot, x.Stages), x.flip(slot, parity)}
}

// before is the slot before a slot.
func (x *special) before(slot *thread.Value) *thread.Value {
	return x.Select(x.Eq(slot, x.i32(0)), x.i32(int64(x.Stages-1)), x.Sub(slot, x.i32(1)))
}
