package excerpt

import (
	"ptc/ir"
	"ptc/ir/op"
)

// cluster is families that lie in each other's stretch: a frame.
type cluster struct {
	families []family
	memory   ir.Memory
	step     int64
	micro    microSpread
	lo, hi   int64 // of one microbatch
}

// join puts x to the cluster in whose stretch it lies, and these together. It reports
// whether all that meet have one step, and one ring of microbatches.
func join(clusters []*cluster, x family, count int) ([]*cluster, bool) {
	lo, hi := x.hull(count)
	c := &cluster{[]family{x}, x.memory, x.spread.Step, microOf(x.spread), lo, hi}
	out := clusters[:0:0]
	for _, d := range clusters {
		if d.memory != c.memory || d.hi <= c.lo || c.hi <= d.lo {
			out = append(out, d)
			continue
		}
		if d.step != c.step || d.micro != c.micro {
			return nil, false
		}
		c.families = append(d.families, c.families...)
		c.lo, c.hi = min(c.lo, d.lo), max(c.hi, d.hi)
	}
	return append(out, c), true
}

// reach is over how many places the values of one instance stretch.
func (c *cluster) reach() int64 {
	lo, hi := c.families[0].at, c.families[0].at
	for _, x := range c.families {
		lo, hi = min(lo, x.at), max(hi, x.at+x.size())
	}
	return (hi-lo+c.step-1)/c.step + 1
}

// move gives a cluster of count instances, of which few are left, its addresses.
func (e *excerpter) move(c *cluster, count, few int) bool {
	frame, _ := e.x.Frame(c.memory, c.lo)
	if frame < 0 {
		frame = e.frame(Frame{c.memory, c.lo, c.hi})
	}
	bytes := c.hi - c.lo - c.step*int64(count-few)
	if c.micro.ring > 1 {
		c.micro.step = roundUp(bytes)
		bytes = c.micro.step * int64(c.micro.ring)
	}
	by := e.allot(frame, c.lo, bytes) - c.lo
	for _, x := range c.families {
		x.set(x.at+by, c.micro)
		if d := x.v.Def; d != nil && d.Name == ir.Enter && !e.entered(d, x, c, by, few) {
			return false
		}
	}
	for _, o := range e.g.Ops {
		if o.Name == ir.Leave && !e.left(o, c, by, few) {
			return false
		}
	}
	return true
}

// entered moves what enters a run where it is in the excerpt.
func (e *excerpter) entered(o *ir.Op, x family, c *cluster, by int64, few int) bool {
	first, _ := o.Run.Ends()
	at := x.at + x.spread.Of(first, 0)
	if o.Run.Down {
		first = few - 1
	}
	return e.once(o.Args[0], c.micro, at, x.at+by+x.spread.Step*int64(first))
}

// left moves what leaves a run where it is in the excerpt, if it is of the cluster.
func (e *excerpter) left(o *ir.Op, c *cluster, by int64, few int) bool {
	for _, x := range c.families {
		if x.v != o.Args[1] {
			continue
		}
		_, last := o.Run.Ends()
		at := x.at + x.spread.Of(last, 0)
		if !o.Run.Down {
			last = few - 1
		}
		return e.once(o.Result(), c.micro, at, x.at+by+x.spread.Step*int64(last))
	}
	return true
}

// once moves a value that is there once, or once for each microbatch, with all that is in
// its place, from one address to another. It reports whether that is possible.
func (e *excerpter) once(v *ir.Value, micro microSpread, from, to int64) bool {
	d := v.Def
	if d == nil || op.Has(d, op.InPlace) || v.In() != nil {
		return false
	}
	j := result(d, v)
	if by, known := e.moved[v]; known {
		return by == to-from
	}
	if j >= len(d.At) || d.At[j] != from {
		return false
	}
	if d.At[j] = to; j < len(d.Spread) {
		micro.put(&d.Spread[j])
	}
	e.moved[v] = to - from
	for _, r := range e.readers[v] {
		switch o := r.o; {
		case op.Has(o, op.Joins):
			return false
		case op.Has(o, op.Subview):
			if o.Run != nil || len(o.At) != 1 || e.pieced(o.Result()) {
				return false
			}
			if o.At[0] += to - from; len(o.Spread) == 1 {
				micro.put(&o.Spread[0])
			}
		case op.Has(o, op.Completes) && r.n < len(o.Results):
			if !e.once(o.Results[r.n], micro, from, to) {
				return false
			}
		}
	}
	if op.Has(d, op.Completes) {
		return e.once(d.Args[j], micro, from, to)
	}
	return true
}

// pieced reports whether v is a part of another value, or has one.
func (e *excerpter) pieced(v *ir.Value) bool {
	for _, r := range e.readers[v] {
		if op.Has(r.o, op.InPlace) {
			return true
		}
	}
	return false
}

func result(o *ir.Op, v *ir.Value) int {
	for j, r := range o.Results {
		if r == v {
			return j
		}
	}
	return len(o.Results)
}
