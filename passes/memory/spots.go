package memory

import (
	"slices"

	"ptc/internal/ranges"
	"ptc/ir"
)

// span is a range of bytes, of a value or an arena.
type span struct{ lo, hi int64 }

func (s span) meets(t span) bool { return s.lo < t.hi && t.lo < s.hi }

// spot is a range of bytes of a memory, or of a frame of an excerpt. What is of a frame
// has addresses for itself among others of that, and for all else is as wide as the
// frame.
type spot struct {
	memory ir.Memory
	span
	frame int // 0: none
	wide  span
}

func (s spot) meets(t spot) bool {
	if s.memory != t.memory {
		return false
	}
	if s.frame == t.frame {
		return s.span.meets(t.span)
	}
	return s.wide.meets(t.wide)
}

// spotIndex finds those of many spots that meet one. Few are looked at as they
// are: most operations have two or three operands, and a merged collective has
// hundreds.
type spotIndex struct {
	spots []spot
	of    map[ir.Memory]memoryIndex // nil for few
}

type memoryIndex struct {
	*ranges.Index
	spots []int // by their places in the index
}

const fewSpots = 8

func indexOf(spots []spot) spotIndex {
	x := spotIndex{spots: spots}
	if len(spots) <= fewSpots {
		return x
	}
	x.of = map[ir.Memory]memoryIndex{}
	for _, mem := range memories {
		var in memoryIndex
		var spans []ranges.Span
		for i, s := range spots {
			if s.memory == mem {
				in.spots, spans = append(in.spots, i), append(spans, ranges.Span{Lo: s.wide.lo, Hi: s.wide.hi})
			}
		}
		in.Index = ranges.NewIndex(spans)
		x.of[mem] = in
	}
	return x
}

// meeting appends to found the spots that meet s, in ascending order.
func (x spotIndex) meeting(s spot, found []int) []int {
	if x.of == nil {
		for i, t := range x.spots {
			if s.meets(t) {
				found = append(found, i)
			}
		}
		return found
	}
	in := x.of[s.memory]
	first := len(found)
	found = in.Meeting(ranges.Span{Lo: s.wide.lo, Hi: s.wide.hi}, found)
	some := found[:first]
	for _, i := range found[first:] {
		if i = in.spots[i]; s.meets(x.spots[i]) {
			some = append(some, i)
		}
	}
	return some
}

// twice says which values an operation has as an operand more than once.
type twice map[*ir.Value]bool

func twiceOf(o *ir.Op) twice {
	var t twice
	if len(o.Args) <= fewSpots {
		for i, a := range o.Args {
			if slices.Contains(o.Args[:i], a) {
				if t == nil {
					t = twice{}
				}
				t[a] = true
			}
		}
		return t
	}
	t = make(twice)
	seen := make(map[*ir.Value]bool, len(o.Args))
	for _, a := range o.Args {
		if seen[a] {
			t[a] = true
		}
		seen[a] = true
	}
	return t
}
