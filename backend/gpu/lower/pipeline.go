package lower

import (
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// pipeline is a loop with products whose operands are put into shared memory before the turn that
// multiplies them, as many turns as its schedule has stages but one. With three:
//
//	copy 0 | copy 1 | wait 0, sync, copy 2, multiply 0 | wait 1, sync, copy 3, multiply 1 | …
//
// An operand that is only read is copied by itself (cp.async), into slots that take turns. The slot
// that a turn fills is the one that the turn before has read, so one barrier is enough. An operand
// that is computed, in a loop that does nothing else than multiply, is loaded to registers before
// the products of the turn before its own, and computed and stored behind them, into the other
// one of two slots.
type pipeline struct {
	*lowering
	o        *tile.Op
	copied   []*operand    // by themselves
	tensors  []*operand    // by one thread
	full     thread.Shared // of tensors, the barriers of the slots
	computed []*operand
	stages   int
	flight   int                  // turns whose products are under way while the next one's begin
	inner    map[*tile.Value]bool // results of the body
}

// operand is one of a product, in slots.
type operand struct {
	v      *tile.Value
	in     *layout.Memory
	at     *layout.Layout // in which it is put there
	width  int            // elements of a copy
	p      placed         // the first slot
	slots  int
	tensor *tiling // of a copy by one thread
	// Of a copy, before the loop: where it reads if the loop's range is at 0, how far apart
	// neighbours along that are, and where it writes.
	from  thread.Pointer
	apart int64
	to    *reach
}

// pipeline is how o is one, or nil where it has no operands that are known ahead.
func (l *lowering) pipeline(o *tile.Op) *pipeline {
	body := o.Loop.Body
	if stores(body) {
		return nil
	}
	x := &pipeline{lowering: l, o: o, stages: max(1, o.Loop.Stages), inner: map[*tile.Value]bool{}}
	for _, b := range body.Ops {
		for _, v := range b.Results {
			x.inner[v] = true
		}
	}
	multiplies := x.multiplies()
	for _, d := range dots(body) {
		p := l.product(d)
		for i, v := range d.Args[:2] {
			if x.inner[v] && x.free(v, map[*tile.Value]bool{}) {
				x.add(v, l.memory(p, i), multiplies)
			}
		}
	}
	if len(x.copied)+len(x.tensors)+len(x.computed) == 0 {
		return nil
	}
	x.groups(multiplies)
	switch e := l.b.Entry(); {
	case !multiplies:
		e.Blocks = max(e.Blocks, 1, foldWarps/l.warps)
	case l.warps <= fewWarps && !l.converts(body):
		e.Blocks = max(e.Blocks, residentWarps/l.warps)
	}
	return x
}

// A multiprocessor has 128 registers for each thread of residentWarps, which products in small blocks
// need, and for each of foldWarps all that a thread can have, which a loop takes that multiplies what it has
// computed of products. An assembler that is not told to have no more blocks than these would keep some in memory to
// fit another one.
const (
	residentWarps = 16
	foldWarps     = 8
	fewWarps      = 4
)

// add notes operand v, if it is copied or may be computed.
func (x *pipeline) add(v *tile.Value, in *layout.Memory, computed bool) {
	same := func(o *operand) bool { return o.v == v }
	if slices.ContainsFunc(x.copied, same) || slices.ContainsFunc(x.tensors, same) || slices.ContainsFunc(x.computed, same) {
		return
	}
	o := &operand{v: v, in: in, at: x.writers(v, in)}
	if v.Def.Kind == tile.Copy && x.straight(v, in) {
		if o.tensor = x.lowering.tensor(v.Def, in); o.tensor != nil {
			o.slots = x.stages
			x.tensors = append(x.tensors, o)
			return
		}
		e := elementwise.Elem(v.Type.DType)
		p := x.strides(v.Def, v.Type.Dims, o.at)
		o.width = p.width(o.at, v.Type.Dims, e)
		if bytes := o.width * e.Bytes(); p.looked == nil && (bytes == 4 || bytes == 8 || bytes == 16) {
			o.slots = x.stages
			x.copied = append(x.copied, o)
			return
		}
	}
	if computed {
		o.slots = min(2, x.stages)
		x.computed = append(x.computed, o)
	}
}

// run makes the loop, and gives the registers that it carries.
func (x *pipeline) run(from, to *thread.Value, at []*layout.Layout) (flat []*thread.Value) {
	l, b := x.lowering, x.b
	init := x.all(x.o.Args, at)
	sums := len(init)
	used := l.depth > 0 || b.UsesShared()
	if len(x.tensors) > 0 {
		x.full = b.NewBarriers(x.stages) // which nothing else lies over
	}
	b.Overlay(func() {
		for _, o := range slices.Concat(x.copied, x.tensors, x.computed) {
			o.p = l.slots(o.v, o.in, o.slots)
		}
		x.prepare()
		if used {
			if len(x.tensors) > 0 {
				b.FenceProxy()
			}
			b.Sync() // what was there before has been read
		}
		x.begin()
		for i := range x.ahead() {
			if len(x.copied)+len(x.tensors) > 0 {
				x.copyAhead(b.Add(from, l.i32(int64(i))), to, l.i32(int64(i)))
			}
			if i == 0 {
				l.within(func() {
					x.enterBefore(from, to)
					x.fill(l.i32(0))
				})
			}
		}
		carry := append(slices.Clone(init), l.i32(0)) // the slot of the turn's copies
		if len(x.tensors) > 0 {
			carry = append(carry, l.i32(0)) // the parity of its barrier's phase
		}
		if len(x.computed) > 0 {
			carry = append(carry, l.i32(0)) // and of what it computes
		}
		flat = b.Loop(from, to, 1, carry, func(t *thread.Value, carry []*thread.Value) (next []*thread.Value) {
			l.within(func() { next = x.turn(t, to, at, carry[:sums], carry[sums:]) })
			return next
		})[:sums]
		if x.flight > 0 {
			b.AwaitProducts(0)
		}
		x.end()
		delete(l.first, x.o.Range)
		for _, v := range x.o.Loop.Carry {
			delete(l.held, v)
		}
	})
	return flat
}

// turn is one of the loop, which reads the given slots.
func (x *pipeline) turn(t, to *thread.Value, at []*layout.Layout, carry, slots []*thread.Value) (next []*thread.Value) {
	l, b := x.lowering, x.b
	other := slots[len(slots)-1] // of the turn behind
	if x.stages == 1 {
		b.Sync() // the turn before has read
		l.within(func() {
			l.enter(x.o.Range, t)
			x.tiles(slots[0], x.lead())
			if len(x.copied) > 0 {
				x.copies(slots[0])
				b.Commit()
			}
			x.fill(l.i32(0))
		})
		if len(x.copied) > 0 {
			b.Await(0)
		}
		x.show()
		b.Sync()
	} else {
		if len(x.copied) > 0 {
			b.Await(x.ahead() - 1)
		}
		x.show()
		b.Sync()
		if len(x.copied)+len(x.tensors) > 0 {
			ahead := int64(x.ahead())
			back := int64(x.stages) - ahead
			x.copyAhead(b.Add(t, l.i32(ahead)), to, b.Select(b.Lt(slots[0], l.i32(back)), b.Add(slots[0], l.i32(ahead)), b.Sub(slots[0], l.i32(back))))
		}
		if len(x.computed) > 0 {
			other = x.after(other, x.computed[0].slots)
			x.enterBefore(b.Add(t, l.i32(1)), to)
			for _, o := range x.computed {
				l.loads(o.v, o.at, func(*tile.Op) bool { return true })
			}
		}
	}
	if len(x.tensors) > 0 {
		b.AwaitBarrier(x.barrier(slots[0]), slots[1])
	}
	l.within(func() {
		l.enter(x.o.Range, t)
		l.spread(x.o.Loop.Carry, at, carry)
		for _, o := range slices.Concat(x.copied, x.tensors) {
			x.put(o, slots[0])
		}
		for _, o := range x.computed {
			x.put(o, slots[len(slots)-1])
		}
		l.depth++
		x.multiplyAll()
		l.depth--
		next = l.all(x.o.Loop.Body.Yield, at)
	})
	if x.stages > 1 && len(x.computed) > 0 {
		x.enterBefore(b.Add(t, l.i32(1)), to)
		x.fill(other)
	}
	slot := slots[0]
	if x.stages > 1 {
		slot = x.after(slot, x.stages)
	}
	next = append(next, slot)
	if len(x.tensors) > 0 {
		next = append(next, b.Xor(slots[1], b.Select(b.Eq(slots[0], l.i32(int64(x.stages-1))), l.i32(1), l.i32(0))))
	}
	if len(x.computed) > 0 {
		next = append(next, other)
	}
	return next
}

// slot is the memory of a slot of o.
func (x *pipeline) slot(o *operand, n *thread.Value) placed {
	p := o.p
	if o.slots > 1 {
		p.mem = x.b.Within(p.mem, x.b.Mul(n, x.i32(int64(o.in.Elems))))
	}
	return p
}

// put says that o is in a slot.
func (x *pipeline) put(o *operand, n *thread.Value) { x.placed[o.v] = x.slot(o, n) }

// enterBefore puts the range at block n, or at the last one where n is behind it: what is
// loaded there is not used.
func (x *pipeline) enterBefore(n, to *thread.Value) {
	x.enter(x.o.Range, x.b.Max(x.b.Min(n, x.b.Sub(to, x.i32(1))), x.i32(0)))
}

// copyAhead starts the copies of block n, if there is one, into slots, as one group.
func (x *pipeline) copyAhead(n, to, slot *thread.Value) {
	x.b.When(x.b.Lt(n, to), func() {
		x.within(func() {
			x.enter(x.o.Range, n)
			x.tiles(slot, x.lead())
			x.copies(slot)
		})
	})
	if len(x.copied) > 0 {
		x.b.Commit()
	}
}

// prepare computes, before the loop, what addresses of copies have in common, and loads what computed
// operands are made of and does not change in the loop.
func (x *pipeline) prepare() {
	r := x.o.Range
	x.first[r] = x.i32(0)
	for _, o := range x.copied {
		dims := o.v.Type.Dims
		p := x.place(o.v.Def, dims, o.at)
		o.from = x.b.At(x.bufs[o.v.Def.View.Buffer], p.base)
		for i, a := range o.v.Def.View.Axes {
			for _, t := range o.v.Def.At[i].Terms {
				if t.Range == r {
					o.apart += t.Coef * int64(a.Stride)
				}
			}
		}
		o.to = x.reach(o.p, dims, o.at)
		for n := 0; n < o.at.Regs(); n += o.width {
			o.to.at(o.to.number(n)) // is known from here on
		}
	}
	delete(x.first, r)
	for _, o := range x.computed {
		x.loads(o.v, o.at, func(o *tile.Op) bool { return !x.inner[o.Result()] })
	}
}

// copies starts the copies of the present block.
func (x *pipeline) copies(slot *thread.Value) {
	n := kernel.Of(x.b.Convert(x.first[x.o.Range], kernel.I64))
	for _, o := range x.copied {
		dims := o.v.Type.Dims
		p := x.strides(o.v.Def, dims, o.at)
		in, have := x.exists(o.at, dims), x.have(o, p)
		from := x.b.At(o.from, n.Mul(o.apart))
		a := thread.Access{N: o.width}
		once := x.once(o.at)
		for r := 0; r < o.at.Regs(); r += o.width {
			if in != nil {
				a.If = in(r)
			}
			if have != nil {
				a.Have = have(r)
			}
			to := o.to.at(o.to.number(r))
			if o.slots > 1 {
				to = x.b.Within(to, x.b.Mul(slot, x.i32(int64(o.in.Elems))))
			}
			x.b.CopyAsync(to, x.b.At(from, kernel.Int(p.offset(r))), a, once)
		}
	}
}

// have is, for each register from which on a copy has its elements, how many of them there are; nil where all are: only
// padding may be copied with others.
func (x *pipeline) have(o *operand, p place) func(r int) *thread.Value {
	for d, r := range o.v.Type.Dims {
		if limit := x.limit(r); limit != nil && p.past(d, r, o.width) > 0 {
			left := x.b.Sub(limit, x.coordinate(o.at, d))
			return func(n int) *thread.Value {
				return x.b.Min(x.b.Sub(left, x.i32(int64(o.at.Offset(n, d)))), x.i32(int64(o.width)))
			}
		}
	}
	return nil
}

// fill computes the present block of what is not copied, and stores it to slots.
func (x *pipeline) fill(slot *thread.Value) {
	for _, o := range x.computed {
		dims := o.v.Type.Dims
		x.reach(x.slot(o, slot), dims, o.at).write(x.complete(o.v, o.at), x.once(o.at))
	}
}

// loads executes those of the loads that v is made of for which wanted holds, and computes nothing.
func (l *lowering) loads(v *tile.Value, at *layout.Layout, wanted func(o *tile.Op) bool) {
	switch o := v.Def; {
	case l.held[v] != nil || o == nil:
	case o.Kind == tile.Load || o.Kind == tile.Copy:
		looked := slices.ContainsFunc(o.At, isLooked)
		if wanted(o) && !looked {
			l.value(v, at)
		}
	case o.Kind == tile.Repeat || elementwise.Known(o.Kind):
		for _, a := range o.Args {
			mine := over(at, v.Type.Dims, a.Type.Dims)
			if same, ok := permutation(v.Type.Dims, a.Type.Dims); ok {
				mine = mine.Permute(same)
			}
			l.loads(a, mine, wanted)
		}
	}
}
