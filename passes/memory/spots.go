package memory

import (
	"slices"

	"ptc/internal/ranges"
	"ptc/ir"
	"ptc/ir/excerpt"
)

// spotIndex finds those of many spots that meet one. Few are looked at as they
// are: most operations have two or three operands, and a merged collective has
// hundreds.
type spotIndex struct {
	spots []excerpt.Spot
	of    map[ir.Memory]memoryIndex // nil for few
}

type memoryIndex struct {
	*ranges.Index
	spots []int // by their places in the index
}

const fewSpots = 8

func indexOf(spots []excerpt.Spot) spotIndex {
	x := spotIndex{spots: spots}
	if len(spots) <= fewSpots {
		return x
	}
	x.of = map[ir.Memory]memoryIndex{}
	for _, mem := range memories {
		var in memoryIndex
		var spans []ranges.Span
		for i, s := range spots {
			if s.Memory == mem {
				in.spots, spans = append(in.spots, i), append(spans, s.Wide)
			}
		}
		in.Index = ranges.NewIndex(spans)
		x.of[mem] = in
	}
	return x
}

// meeting appends to found the spots that meet s, in ascending order.
func (x spotIndex) meeting(s excerpt.Spot, found []int) []int {
	if x.of == nil {
		for i, t := range x.spots {
			if s.Meets(t) {
				found = append(found, i)
			}
		}
		return found
	}
	in := x.of[s.Memory]
	first := len(found)
	found = in.Meeting(s.Wide, found)
	some := found[:first]
	for _, i := range found[first:] {
		if i = in.spots[i]; s.Meets(x.spots[i]) {
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
