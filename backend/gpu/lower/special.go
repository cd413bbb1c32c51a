package lower

import (
	"slices"

	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
)

// main is the one loop of a phase whose turns are not those of one block of threads, in the order of their numbers.
type main interface {
	loop() *tile.Op
	// turns makes the loop's code for its blocks [from, to), and gives the registers that it carries.
	turns(from, to *thread.Value, at []*layout.Layout) []*thread.Value
}

// only is the loop of a phase that does nothing else that threads do together than to store, and what behind allows; or
// nil.
func only(body *tile.Block, behind ...tile.Kind) *tile.Op {
	var loop *tile.Op
	for _, o := range body.Ops {
		switch {
		case o.Kind == tile.For && loop == nil:
			loop = o
		case o.Kind == tile.Store || o.Kind == tile.Wait || loop != nil && slices.Contains(behind, o.Kind):
		case effects[o.Kind] != nil:
			return nil
		}
	}
	if loop == nil || loop.Loop.From != nil || loop.Loop.To != nil {
		return nil
	}
	return loop
}

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
	ph    *tile.Phase
	empty thread.Shared
	// The slot that is next, and the parity of its barrier of full slots.
	slot, parity *thread.Value
}

const (
	// producerWarps are a warpgroup, since registers are given to whole ones, of which one thread copies.
	producerWarps = 4
	// producerRegisters are what that thread needs, and mostRegisters what others have at most: a thread may have 255.
	producerRegisters = 40
	mostRegisters     = 240
	// fileRegisters is how many registers a multiprocessor has that can specialize warps.
	fileRegisters = 64 << 10
	// mostTasks is less than what a number of 32 bits holds, by more than the number of blocks.
	mostTasks = 1 << 30
)

// specialize is ph as specialized warps do it, or nil where the schedule does not want that, or something else is to be
// done than to copy by tensor maps, to multiply by warpgroups, and to store.
func (l *lowering) specialize(ph *tile.Phase) *special {
	if n := l.p.Schedule.Producers; n > 1 {
		l.fail("found %d warpgroups that only copy; expected one at most", n)
		return nil
	}
	if l.p.Schedule.Producers == 0 || len(l.p.Phases) != 1 || blocks(ph) >= mostTasks {
		return nil
	}
	o := only(ph.Body)
	if o == nil || len(dots(o.Loop.Body)) == 0 {
		return nil
	}
	resident := l.b.Entry().Blocks // which a pipeline sets for itself
	p := l.pipeline(o)
	l.b.Entry().Blocks = resident
	if p == nil || p.flight == 0 || len(p.copied)+len(p.computed) > 0 {
		return nil
	}
	for _, d := range dots(o.Loop.Body) {
		if !p.inner[d.Args[0]] || !p.inner[d.Args[1]] {
			return nil
		}
	}
	return &special{pipeline: p, ph: ph}
}

func (x *special) loop() *tile.Op { return x.o }

// run makes the kernel, and gives the number of its blocks.
func (x *special) run() int64 {
	l, b := x.lowering, x.b
	threads := lanes * l.warps
	e := b.Entry()
	e.Threads = threads + lanes*producerWarps
	e.Blocks = max(1, residentWarps/2/l.warps)
	tasks := blocks(x.ph)
	grid := tasks
	if n := l.p.Schedule.Persistent; n > 0 {
		grid = min(grid, n)
	}
	x.full, x.empty = b.NewBarriers(x.stages), b.NewBarriers(x.stages)
	for _, o := range x.tensors {
		o.p = l.slots(o.v, o.in, x.stages)
	}
	lead := l.lead()
	for i := range int64(x.stages) {
		b.InitBarrier(x.full.Plus(i), 1, lead)
		b.InitBarrier(x.empty.Plus(i), l.warps, lead)
	}
	b.FenceBarriers()
	b.Sync() // barriers are made
	// The slot, and the parity of its barrier, go on from task to task.
	begin := []*thread.Value{l.i32(0), l.i32(0)}
	all := func(one func()) {
		b.Loop(b.Special(thread.Block), l.i32(tasks), grid, begin, func(n *thread.Value, carry []*thread.Value) []*thread.Value {
			x.slot, x.parity = carry[0], carry[1]
			l.within(func() {
				l.locate(x.ph, n)
				one()
			})
			return []*thread.Value{x.slot, x.parity}
		})
	}
	copies, multiplies := x.registers(e.Threads, e.Blocks)
	produces := b.Le(l.i32(int64(threads)), b.Special(thread.Thread))
	b.If(produces, func() []*thread.Value {
		if multiplies > 0 {
			b.Registers(copies, false)
		}
		b.When(b.Eq(b.Special(thread.Thread), l.i32(int64(threads))), func() { all(x.produce) })
		return nil
	}, func() []*thread.Value {
		if multiplies > 0 {
			b.Registers(multiplies, true)
		}
		l.main = x
		b.Among(threads, func() { all(func() { l.block(x.ph.Body) }) })
		l.main = nil
		return nil
	})
	return grid
}

// registers is how many a thread has that copies, and that multiplies; 0 where all have enough.
func (x *special) registers(threads, resident int) (copies, multiplies int) {
	each := fileRegisters / (threads * resident) / 8 * 8
	others := lanes * x.warps
	more := (each*threads - producerRegisters*lanes*producerWarps) / others / 8 * 8
	if each >= mostRegisters {
		return 0, 0
	}
	return producerRegisters, min(more, mostRegisters)
}

// produce copies all turns of a task, as slots are empty.
func (x *special) produce() {
	l, b := x.lowering, x.b
	from, to := l.bounds(x.o)
	out := b.Loop(from, to, 1, []*thread.Value{x.slot, x.parity}, func(t *thread.Value, carry []*thread.Value) (next []*thread.Value) {
		l.within(func() {
			slot, parity := carry[0], carry[1]
			// Of a barrier of which no phase is complete, that before the first one counts as such.
			b.AwaitBarrier(b.Within(x.empty, slot), b.Xor(parity, l.i32(1)))
			l.enter(x.o.Range, t)
			x.tiles(slot, nil)
			next = x.next(slot, parity)
		})
		return next
	})
	x.slot, x.parity = out[0], out[1]
}

// turns multiplies what is copied. The products of a turn are under way in the next one, and empty their slot then.
func (x *special) turns(from, to *thread.Value, at []*layout.Layout) []*thread.Value {
	l, b := x.lowering, x.b
	init := x.all(x.o.Args, at)
	sums := len(init)
	first := b.Eq(b.Special(thread.Lane), l.i32(0))
	out := b.Loop(from, to, 1, append(init, x.slot, x.parity), func(t *thread.Value, carry []*thread.Value) (next []*thread.Value) {
		l.within(func() {
			slot, parity := carry[sums], carry[sums+1]
			b.AwaitBarrier(b.Within(x.full, slot), parity)
			l.enter(x.o.Range, t)
			l.spread(x.o.Loop.Carry, at, carry[:sums])
			for _, o := range x.tensors {
				x.put(o, slot)
			}
			l.depth++
			x.multiplyAll()
			l.depth--
			next = l.all(x.o.Loop.Body.Yield, at)
			b.Arrive(b.Within(x.empty, x.before(slot)), b.And(first, b.Lt(from, t)))
			next = append(next, x.next(slot, parity)...)
		})
		return next
	})
	x.slot, x.parity = out[sums], out[sums+1]
	b.AwaitProducts(0)
	b.Arrive(b.Within(x.empty, x.before(x.slot)), first)
	delete(l.first, x.o.Range)
	for _, v := range x.o.Loop.Carry {
		delete(l.held, v)
	}
	return out[:sums]
}

// next is the slot behind a slot, and the parity of its barrier's phase.
func (x *special) next(slot, parity *thread.Value) []*thread.Value {
	last := x.b.Eq(slot, x.i32(int64(x.stages-1)))
	return []*thread.Value{x.after(slot, x.stages), x.b.Xor(parity, x.b.Select(last, x.i32(1), x.i32(0)))}
}

// before is the slot before a slot.
func (x *special) before(slot *thread.Value) *thread.Value {
	return x.b.Select(x.b.Eq(slot, x.i32(0)), x.i32(int64(x.stages-1)), x.b.Sub(slot, x.i32(1)))
}
