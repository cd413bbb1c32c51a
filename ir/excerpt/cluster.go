package excerpt

import (
	"slices"

	"ptc/internal/ranges"
	"ptc/internal/rolled"
	"ptc/ir"
	"ptc/ir/op"
)

// cluster is values in rows that lie in each other's stretch: a frame.
type cluster struct {
	places []Placed
	memory ir.Memory
	step   int64
	micro  ir.Spread
	ranges.Span
}

// clustersOf puts values to those in whose stretch they lie. It reports whether all that
// meet have one step, and one ring of microbatches.
func clustersOf(places []Placed) (out []*cluster, ok bool) {
	var hulls []rolled.Hull[ir.Memory]
	for i, x := range places {
		moves := x.Micro()
		moves.Step = x.Step
		lo, hi := x.Ends()
		hulls = append(hulls, rolled.Hull[ir.Memory]{Memory: x.Memory, Lo: lo, Hi: hi, Moves: moves, ID: i})
	}
	for group := range rolled.Groups(hulls) {
		x := group[0]
		c := &cluster{memory: x.Memory, step: x.Moves.Step, micro: x.Moves.Micro(), Span: ranges.Span{Lo: x.Lo}}
		for _, h := range group {
			c.places, c.Hi = append(c.places, places[h.ID]), max(c.Hi, h.Hi)
		}
		out = append(out, c)
	}
	return out, rolled.Alike(hulls)
}

// reach is over how many places the values of one instance stretch.
func (c *cluster) reach() int64 {
	lo, hi := c.places[0].At, c.places[0].At
	for _, x := range c.places {
		lo, hi = min(lo, x.At), max(hi, x.At+x.Bytes())
	}
	return (hi-lo+c.step-1)/c.step + 1
}

// move gives a cluster of count instances, of which few are left, its addresses.
func (e *excerpter) move(c *cluster, count, few int) bool {
	frame, _ := e.x.Frame(c.memory, c.Lo)
	if frame < 0 {
		frame = e.frame(Frame{c.memory, c.Span})
	}
	bytes := c.Hi - c.Lo - c.step*int64(count-few)
	if c.micro.MicroRing > 1 {
		c.micro.MicroStep = roundUp(bytes)
		bytes = c.micro.MicroStep * int64(c.micro.MicroRing)
	}
	by := e.allot(frame, c.Lo, bytes) - c.Lo
	for _, x := range c.places {
		x.put(x.At+by, c.micro)
		if d := x.Value.Def; d != nil && d.Name == ir.Enter {
			first, _ := d.Run.Way().Ends()
			if !e.end(d.Args[0], x, c, by, first, few) {
				return false
			}
		}
	}
	for _, o := range e.g.Ops {
		if o.Name != ir.Leave {
			continue
		}
		for _, x := range c.places {
			_, last := o.Run.Way().Ends()
			if x.Value == o.Args[1] && !e.end(o.Result(), x, c, by, last, few) {
				return false
			}
		}
	}
	return true
}

// end moves v, which is what instance k of x is, the first or the last of a run, outside
// of it, to where that is in the excerpt.
func (e *excerpter) end(v *ir.Value, x Placed, c *cluster, by int64, k, few int) bool {
	at := x.Place.Of(k, 0)
	if k > 0 {
		k = few - 1
	}
	return e.once(v, c.micro, at, x.At+by+x.Step*int64(k))
}

// once moves a value that is there once, or once for each microbatch, with all that is in
// its place, from one address to another. It reports whether that is possible.
func (e *excerpter) once(v *ir.Value, micro ir.Spread, from, to int64) bool {
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
		setMicro(&d.Spread[j], micro)
	}
	e.moved[v] = to - from
	for _, r := range e.readers[v] {
		switch o := r.o; {
		case op.Has(o, op.Joins):
			return false
		case op.Has(o, op.Views):
			if o.Run != nil || len(o.At) != 1 || e.pieced(o.Result()) {
				return false
			}
			if o.At[0] += to - from; len(o.Spread) == 1 {
				setMicro(&o.Spread[0], micro)
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
	return slices.ContainsFunc(e.readers[v], func(r reader) bool { return op.Has(r.o, op.InPlace) })
}

func result(o *ir.Op, v *ir.Value) int {
	for j, r := range o.Results {
		if r == v {
			return j
		}
	}
	return len(o.Results)
}
