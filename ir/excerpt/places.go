package excerpt

import (
	"ptc/internal/ranges"
	"ptc/internal/rolled"
	"ptc/ir"
	"ptc/ir/op"
)

// Placed is a value, and where its instances are.
type Placed struct {
	Value  *ir.Value
	Memory ir.Memory
	rolled.Place
	spread *ir.Spread     // where its function says so; nil: nowhere
	move   func(at int64) // says another place of instance 0
}

// Places are those of the values of f: of its arguments, and of results in their order. What has none is
// left out.
func Places(f *ir.Func) (out []Placed) {
	memory := op.Memories(f)
	for _, a := range f.Args {
		out = append(out, Placed{a.Value, memory[a.Value], rolled.Place{At: a.At.Bytes(), Spread: a.Spread}, &a.Spread, func(at int64) { a.At = ir.OffsetOf(at) }})
	}
	for _, o := range f.Ops {
		for j, v := range o.Results[:min(len(o.Results), len(o.At))] {
			x := Placed{v, memory[v], rolled.Place{At: o.At[j]}, nil, func(at int64) { o.At[j] = at }}
			if j < len(o.Spread) {
				x.spread, x.Spread = &o.Spread[j], o.Spread[j]
			}
			out = append(out, x)
		}
	}
	return out
}

// Bytes is the size of one instance.
func (x *Placed) Bytes() int64 { return int64(x.Value.Type.Bytes()) }

// Ends are where the places of instances begin and end, those of the first microbatch.
func (x *Placed) Ends() (lo, hi int64) { return x.Place.Ends(x.Bytes(), x.Value.Count()) }

// Hull is all bytes of the instances for all microbatches, and those between.
func (x *Placed) Hull() ranges.Span {
	lo, hi := x.Ends()
	return ranges.Span{Lo: lo, Hi: hi + x.Width()}
}

// put moves x to another place, where microbatches lie as said.
func (x *Placed) put(at int64, micro ir.Spread) {
	x.move(at)
	setMicro(x.spread, micro)
}

// setMicro has microbatches lie as said, if there is one value for each.
func setMicro(s *ir.Spread, micro ir.Spread) {
	if s != nil && s.MicroRing > 0 {
		s.MicroStep, s.MicroRing = micro.MicroStep, micro.MicroRing
	}
}

// Spot is a range of bytes of a memory, or of a frame of an excerpt. What is of a frame has addresses for
// itself among others of that, and for all else is as wide as the frame.
type Spot struct {
	Memory ir.Memory
	ranges.Span
	Frame int // its number from 1; 0: none
	Wide  ranges.Span
}

// Meets reports whether two spots have a byte in common, in truth.
func (s Spot) Meets(t Spot) bool {
	switch {
	case s.Memory != t.Memory:
		return false
	case s.Frame == t.Frame:
		return s.Span.Meets(t.Span)
	}
	return s.Wide.Meets(t.Wide)
}

// Spot is where the bytes from lo up to hi of a memory are.
func (x Excerpt) Spot(memory ir.Memory, lo, hi int64) Spot {
	s := Spot{Memory: memory, Span: ranges.Span{Lo: lo, Hi: hi}, Wide: ranges.Span{Lo: lo, Hi: hi}}
	if n, _ := x.Frame(memory, lo); n >= 0 {
		s.Frame, s.Wide = n+1, x.Frames[n].Span
	}
	return s
}
