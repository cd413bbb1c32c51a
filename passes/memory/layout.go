package memory

import (
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// buffer is a place: of one value, or of several that share it because a kernel
// writes its result over its operand, because one is a piece of another, or
// because what is done is where it was all along.
type buffer struct {
	values []*ir.Value
	memory ir.Memory
	bytes  int64
	lo, hi int     // first operation that writes, last that uses it
	read   int     // last operation that is issued and reads it, see lastUse
	arg    *ir.Arg // that lives there, and is not a temporary
	offset int64
}

// layout is the buffers of one function.
type layout struct {
	p       *planner
	f       *ir.Func
	buffers []*buffer
	of      map[*ir.Value]*buffer
	at      map[*ir.Value]int64 // of a value in its buffer
}

// layout gives every value of f a buffer, and puts those together that share
// one. New parameters and states are where the old ones are.
func (p *planner) layout(f *ir.Func) *layout {
	l := &layout{p: p, f: f, of: map[*ir.Value]*buffer{}, at: map[*ir.Value]int64{}}
	mem := op.Memories(f)
	last, read := lastUse(f)
	add := func(v *ir.Value, i int, a *ir.Arg) {
		b := &buffer{values: []*ir.Value{v}, memory: mem[v], bytes: aligned(int64(max(1, v.Type.Bytes()))),
			lo: i, hi: max(i, last[v]), read: read[v], arg: a}
		l.buffers = append(l.buffers, b)
		l.of[v] = b
	}
	for _, a := range f.Args {
		add(a.Value, 0, a)
	}
	for i, o := range f.Ops {
		for _, v := range o.Results {
			add(v, i, nil)
		}
	}
	args := f.Named()
	for _, r := range f.Results {
		if a := args.Arg(r.Role, r.Path); a != nil && a.Value != r.Value {
			l.join(r.Value, a.Value, 0)
		}
	}
	for _, o := range f.Ops {
		l.shared(o)
	}
	for i, o := range f.Ops {
		taken := map[*buffer]bool{}
		for j := range o.Results {
			l.inPlace(o, p.kernel(o), i, j, taken)
		}
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
	case op.Has(o, op.Subview):
		l.join(o.Result(), o.Args[0], pieceOffset(o))
	case op.Has(o, op.Joins):
		var at int64
		for _, v := range o.Args {
			if v.Def == nil || !op.Has(v.Def, op.Subview) { // which has its place
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
func (l *layout) join(v, w *ir.Value, at int64) {
	b, c := l.of[v], l.of[w]
	if b == c {
		return
	}
	shift := l.at[w] + at - l.at[v]
	if b.arg != nil { // that stays
		b, c, shift = c, b, -shift
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
		l.of[x] = c
	}
	c.values = append(c.values, b.values...)
	c.bytes = max(c.bytes, shift+b.bytes)
	c.lo, c.hi = min(c.lo, b.lo), max(c.hi, b.hi)
	if c.read < 0 || b.read < 0 {
		c.read = -1
	} else {
		c.read = max(c.read, b.read)
	}
	b.values = nil
}

// inPlace puts result j of operation i over an operand that dies there, if the
// kernel may write it so.
func (l *layout) inPlace(o *ir.Op, k *fusion.Kernel, i, j int, taken map[*buffer]bool) {
	v := o.Results[j]
	c := l.of[v]
	if c.arg != nil || c.lo != i || l.at[v] != 0 {
		return
	}
	first, end := 0, len(o.Args)
	if k == nil { // no other operand than the one in its turn, see mayOverwrite
		first, end = min(j, end), min(j+1, end)
	}
	for n := first; n < end; n++ {
		a := o.Args[n]
		b := l.of[a]
		if b == c || b.arg != nil || b.memory != c.memory || taken[b] || b.read != i || l.at[a] != 0 || b.bytes < c.bytes ||
			!mayOverwrite(o, k, n, j) || usedTwice(o, a) {
			continue
		}
		taken[b] = true
		l.join(v, a, 0)
		l.of[v].read = c.read
		taken[l.of[v]] = true
		return
	}
}

// temporaries are the buffers in a memory that are of no argument, in the order
// in which they are first written.
func (l *layout) temporaries(memory ir.Memory) []*buffer {
	var out []*buffer
	for _, b := range l.buffers {
		if b.values != nil && b.arg == nil && b.memory == memory {
			out = append(out, b)
		}
	}
	return out
}

// write records the places.
func (l *layout) write() {
	for _, o := range l.f.Ops {
		offsets := []int64{}
		for _, v := range o.Results {
			b := l.of[v]
			at := b.offset
			if b.arg != nil {
				at = b.arg.At.Bytes()
			}
			offsets = append(offsets, at+l.at[v])
		}
		o.At = offsets
	}
}
