package memory

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// buffer is a place, or one for each instance of a stack: of one value, or of several
// that share it because a kernel writes its result over its operand, because one is
// a piece of another, because what is done is where it was all along, or because
// one instance leaves what enters the next.
type buffer struct {
	values []*ir.Value
	memory ir.Memory
	bytes  int64 // of one place
	life
	arg   *ir.Arg // that lives there, and is not a temporary
	chain kind    // of what goes from instance to instance there
	kind
	ring int // places, of kind ringed

	offset int64
	lo, hi int // operations, where every instance of a run is in the place of all
	frame  *frame
	slot   int   // of its frame: how many places all of it is moved
	tasks  tasks // in which it is in use
	row    *row  // that it is in, of what microbatches keep
	// once: something in it is there once, or an argument; between: something is in use
	// between ticks.
	once, between bool
	// least and most are the slots of its values of instances, see layout.slot.
	least, most int
}

// kind is how the instances of a buffer lie.
type kind uint8

const (
	single kind = iota // all in one place
	ringed             // in as many as are in use at once, in turns
	framed             // each in its own
)

// layout is the buffers of one function.
type layout struct {
	p       *planner
	f       *ir.Func
	time    *timeline
	buffers []*buffer
	of      map[*ir.Value]*buffer
	at      map[*ir.Value]int64 // of a value in its buffer
	slot    map[*ir.Value]int   // instance k is in place k + slot; of what is there once, the place
	frames  []*frame
	rows    []*row
	orders  []order // what is known, see ordered
	rings   []circle
}

// layout gives every value of f a buffer, and puts those together that share
// one. New parameters and states are where the old ones are.
func (p *planner) layout(f *ir.Func) *layout {
	l := p.apart(f)
	l.accumulate()
	for _, c := range chains(f) {
		l.link(c)
	}
	for i, o := range f.Ops {
		taken := map[*buffer]bool{}
		for j := range o.Results {
			l.inPlace(o, i, j, taken)
		}
	}
	l.rowed()
	l.classify()
	l.enframe()
	l.enrow()
	return l
}

// apart is the layout as far as operations say where their results are.
func (p *planner) apart(f *ir.Func) *layout {
	l := &layout{p: p, f: f, time: timelineOf(f), of: map[*ir.Value]*buffer{}, at: map[*ir.Value]int64{}, slot: map[*ir.Value]int{}}
	mem, elsewhere := op.Memories(f), l.time.elsewhere()
	lives := lives(l.time, elsewhere)
	add := func(v *ir.Value, a *ir.Arg) {
		b := &buffer{values: []*ir.Value{v}, memory: mem[v], bytes: aligned(int64(max(1, v.Type.Bytes()))), life: lives[v], arg: a}
		l.buffers = append(l.buffers, b)
		l.of[v] = b
	}
	for _, a := range f.Args {
		add(a.Value, a)
	}
	for _, o := range f.Ops {
		for _, v := range o.Results {
			add(v, nil)
		}
	}
	l.used(elsewhere)
	args := f.Named()
	for _, r := range f.Results {
		if a := args.Arg(r.Role, r.Path); a != nil && a.Value != r.Value {
			l.join(r.Value, a.Value, 0)
		}
	}
	for _, o := range f.Ops {
		l.shared(o)
	}
	return l
}

// shared puts together what o says is in one place.
func (l *layout) shared(o *ir.Op) {
	switch {
	case op.Has(o, op.Completes):
		for j, v := range o.Results {
			l.join(o.Args[j], v, 0)
		}
	case op.Has(o, op.Views):
		l.join(o.Result(), o.Args[0], pieceOffset(o))
	case op.Has(o, op.Joins):
		var at int64
		for _, v := range o.Args {
			if v.Def == nil || !op.Has(v.Def, op.Views) { // which has its place
				l.join(v, o.Result(), at)
			}
			at += int64(v.Type.Bytes())
		}
	}
}

// pieceOffset is where the piece of o's operands begins, in bytes.
func pieceOffset(o *ir.Op) int64 {
	axis, from, _, ok := op.Piece(o)
	if !ok {
		return 0
	}
	t := o.Args[0].Type
	return from * int64(t.Strides()[t.Index(axis)]*t.DType.Size())
}

// join puts v where w is, at bytes further on.
func (l *layout) join(v, w *ir.Value, at int64) { l.joinAt(v, w, at, l.slot[w]) }

// joinAt puts v, if it is at the slot, where w is.
func (l *layout) joinAt(v, w *ir.Value, at int64, slot int) {
	b, c := l.of[v], l.of[w]
	if b == c {
		return
	}
	shift, slots := l.at[w]+at-l.at[v], slot-l.slot[v]
	if b.arg != nil { // that stays
		b, c, shift, slots = c, b, -shift, -slots
	}
	if shift < 0 { // c begins later than b
		for _, x := range c.values {
			l.at[x] -= shift
		}
		c.bytes -= shift
		shift = 0
	}
	for _, x := range b.values {
		l.at[x] += shift
		l.slot[x] += slots
		l.of[x] = c
	}
	c.values = append(c.values, b.values...)
	c.bytes = max(c.bytes, shift+b.bytes)
	c.life = c.and(l.time.shiftedLife(b.life, slots))
	c.chain = max(c.chain, b.chain)
	c.tasks, c.once, c.between = c.tasks.and(b.tasks), c.once || b.once, c.between || b.between
	b.values = nil
}

// classify says how the instances of each buffer lie, and when its places are in use.
func (l *layout) classify() {
	for _, b := range l.buffers {
		if b.values == nil || b.arg != nil {
			continue
		}
		stack := l.stack(b)
		switch {
		case b.chain != single:
			b.kind, b.ring = b.chain, 2
		case stack == nil || b.from.seg != b.to.seg && !l.across(b):
			b.kind = single
		case b.from.seg != b.to.seg:
			b.kind = framed
		default:
			if b.ring = b.to.iteration - b.from.iteration + 1; b.ring > 1 {
				b.kind = ringed
			}
			if b.ring >= stack.Count && b.ring > 1 {
				b.kind = framed
			}
		}
		if b.lo, b.hi = l.time.collapsed(b.from, b.to); stack != nil && b.kind == single && b.from.seg == b.to.seg {
			b.lo, b.hi = b.from.pos, b.to.pos // the same in each iteration
		}
		l.slots(b)
	}
}

// slots notes in which places the instances are that are in b.
func (l *layout) slots(b *buffer) {
	first := true
	for _, v := range b.values {
		if s := l.slot[v]; v.In() != nil && first {
			b.least, b.most, first = s, s, false
		} else if v.In() != nil {
			b.least, b.most = min(b.least, s), max(b.most, s)
		}
	}
}

// stack is that of which every instance has a value in b, or nil.
func (l *layout) stack(b *buffer) *ir.Stack {
	for _, v := range b.values {
		if s := v.In(); s != nil {
			return s
		}
	}
	return nil
}

// across reports whether b has values of instances, and nothing that is there once:
// that is where what goes from instance to instance has one place.
func (l *layout) across(b *buffer) bool {
	return !slices.ContainsFunc(b.values, func(v *ir.Value) bool { return v.In() == nil })
}

// temporaries are what has a place of its own in a memory and is of no argument:
// buffers in the order in which they are first written, frames and rows.
func (l *layout) temporaries(memory ir.Memory) []*buffer {
	var out []*buffer
	for _, b := range l.buffers {
		if b.values != nil && b.arg == nil && b.memory == memory && b.frame == nil && b.row == nil {
			out = append(out, b)
		}
	}
	for _, x := range l.frames {
		if x.whole.memory == memory && x.whole.row == nil {
			out = append(out, x.whole)
		}
	}
	for _, x := range l.rows {
		if x.whole.memory == memory {
			out = append(out, x.whole)
		}
	}
	return out
}

// size is the bytes of all places of b.
func (b *buffer) size() int64 {
	if b.kind == ringed {
		return b.bytes * int64(b.ring)
	}
	return b.bytes
}

// write records the places.
func (l *layout) write() {
	for _, o := range l.f.Ops {
		offsets, spreads, any := []int64{}, []ir.Spread{}, false
		for _, v := range o.Results {
			at, s := l.place(v)
			offsets, spreads = append(offsets, at), append(spreads, s)
			any = any || s != ir.Spread{}
		}
		if o.At, o.Spread = offsets, nil; any {
			o.Spread = spreads
		}
	}
}

// place is where v is: of what instances and microbatches have each, the first one, and
// how the others lie.
func (l *layout) place(v *ir.Value) (int64, ir.Spread) {
	b, in := l.of[v], l.at[v]
	if b.arg != nil {
		return b.arg.At.Bytes() + in, b.arg.Spread
	}
	at, by := l.instances(b, v)
	x := b.row
	if b.frame != nil {
		x = b.frame.whole.row
	}
	if x != nil && v.PerMicro() {
		if by.MicroRing = x.ring; x.ring > 1 {
			by.MicroStep = x.bytes
		}
	}
	return at + in, by
}

// base is where b begins.
func (b *buffer) base() int64 {
	if b.row != nil && b.row.whole != b {
		return b.row.whole.offset + b.offset
	}
	return b.offset
}

// instances is where v, which is in b, begins of the first microbatch, but for where it
// is in its buffer, and how its instances lie.
func (l *layout) instances(b *buffer, v *ir.Value) (int64, ir.Spread) {
	slot, each := l.slot[v], v.In() != nil
	switch {
	case b.frame != nil:
		at := b.frame.whole.base() + b.frame.origin + b.offset + b.frame.step*int64(slot+b.slot)
		if !each {
			return at, ir.Spread{}
		}
		return at, ir.Spread{Step: b.frame.step, Ring: b.frame.stack.Count}
	case b.kind != ringed:
		return b.base(), ir.Spread{}
	case !each:
		return b.base() + b.bytes*int64(slot%b.ring), ir.Spread{}
	case slot%b.ring != 0: // of two places
		return b.base() + b.bytes, ir.Spread{Step: -b.bytes, Ring: 2}
	}
	return b.base(), ir.Spread{Step: b.bytes, Ring: b.ring}
}
