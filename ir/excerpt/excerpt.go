package excerpt

import (
	"slices"
	"sort"

	"ptc/internal/ranges"
	"ptc/internal/rolled"
	"ptc/ir"
)

// Excerpt is a function with fewer instances and microbatches, and its frames.
type Excerpt struct {
	F      *ir.Func
	Frames []Frame
	Parts  []Part // in the order of their addresses, which are those of no memory
}

// Frame is where instances or microbatches have values of their own: from Lo up to Hi
// in truth.
type Frame struct {
	Memory ir.Memory
	ranges.Span
}

// Part is a range of addresses in the excerpt, of a frame.
type Part struct {
	Frame      int
	Begin, End int64
}

// Frame is the number of the frame of which an address of a memory is, and up to where
// its addresses go; -1 where it is of none.
func (x Excerpt) Frame(memory ir.Memory, at int64) (frame int, end int64) {
	i := sort.Search(len(x.Parts), func(i int) bool { return at < x.Parts[i].End })
	if i == len(x.Parts) || at < x.Parts[i].Begin || x.Frames[x.Parts[i].Frame].Memory != memory {
		return -1, 0
	}
	return x.Parts[i].Frame, x.Parts[i].End
}

// Of is an excerpt of f. Operations keep their numbers.
func Of(f *ir.Func) Excerpt {
	x := Excerpt{F: f}
	if len(f.Tasks) > 0 {
		e := excerptOf(x)
		if !e.micros() {
			return x
		}
		x = e.excerpt()
	}
	if len(f.Stacks) > 0 {
		if e := excerptOf(x); e.stacks(x.F) {
			x = e.excerpt()
		}
	}
	return x
}

func (e *excerpter) excerpt() Excerpt { return Excerpt{e.g, e.x.Frames, e.x.Parts} }

func excerptOf(x Excerpt) *excerpter {
	f := x.F
	e := &excerpter{g: f.Clone(), moved: map[*ir.Value]int64{}, readers: map[*ir.Value][]reader{}}
	e.x = Excerpt{Frames: slices.Clone(x.Frames), Parts: slices.Clone(x.Parts)}
	for _, o := range e.g.Ops {
		o.At, o.Spread = slices.Clone(o.At), slices.Clone(o.Spread)
		for n, v := range o.Args {
			e.readers[v] = append(e.readers[v], reader{o, n})
		}
	}
	for _, mem := range ir.Memories() {
		e.top = max(e.top, f.Attrs.Int(mem.String(), 0), f.Attrs.Int("arena", 0))
	}
	if n := len(x.Parts); n > 0 {
		e.top = max(e.top, x.Parts[n-1].End)
	}
	e.top = roundUp(e.top)
	return e
}

// frame is the number of a new frame.
func (e *excerpter) frame(x Frame) int {
	e.x.Frames = append(e.x.Frames, x)
	return len(e.x.Frames) - 1
}

// allot gives what begins at lo, of a frame, a range of addresses for itself, of which it
// returns the first one.
func (e *excerpter) allot(frame int, lo, bytes int64) int64 {
	begin := e.top + (lo%alignment+alignment)%alignment // aligned as it was
	e.top = roundUp(begin + bytes)
	e.x.Parts = append(e.x.Parts, Part{frame, begin, begin + bytes})
	return begin
}

// stacks makes the stacks of f smaller where that is possible and of use. It reports
// whether any is.
func (e *excerpter) stacks(f *ir.Func) bool {
	for i := range f.Stacks {
		if !e.stack(f.Stacks[i], e.g.Stacks[i]) {
			return false
		}
	}
	return e.fewer
}

// alignment is a multiple of that of all places.
const alignment = 1 << 12

func roundUp(n int64) int64 { return (n + alignment - 1) / alignment * alignment }

type excerpter struct {
	g       *ir.Func
	x       Excerpt             // its frames
	moved   map[*ir.Value]int64 // by how much, of what is there once and lies in a frame
	top     int64               // of what has addresses
	fewer   bool
	readers map[*ir.Value][]reader
}

// reader is an operation that reads a value as operand n.
type reader struct {
	o *ir.Op
	n int
}

// stack makes s, which is t in the excerpt, smaller if that is possible and of use. It
// reports whether there can be an excerpt.
func (e *excerpter) stack(s, t *ir.Stack) bool {
	places, period, ok := e.places(t)
	if !ok {
		return false
	}
	clusters, ok := clustersOf(places)
	if !ok {
		return false
	}
	reach := int64(1)
	for _, c := range clusters {
		reach = max(reach, c.reach())
	}
	few := rolled.Few(s.Count, period, e.ahead(t), int(reach))
	if few == s.Count {
		return true
	}
	for _, c := range clusters {
		if !e.move(c, s.Count, few) {
			return false
		}
	}
	for _, x := range Places(e.g) {
		if x.Value.In() == t && x.spread != nil && x.Ring >= s.Count {
			x.spread.Ring = few
		}
	}
	t.Count = few
	e.fewer = true
	return true
}

// places lists what instances of t have each in a place of its own, and gives the
// least common multiple of the lengths of rings.
func (e *excerpter) places(t *ir.Stack) (rows []Placed, period int, ok bool) {
	const most = 1 << 10
	period = 1
	for _, x := range Places(e.g) {
		switch {
		case x.Value.In() != t || x.Step == 0 || x.Ring <= 1:
		case x.Ring < t.Count:
			period = rolled.Common(period, x.Ring, most)
		case x.Step < 0:
			return nil, 0, false
		default:
			rows = append(rows, x)
		}
	}
	return rows, period, period < most
}

// ahead is how far apart operations of one iteration are, in instances.
func (e *excerpter) ahead(t *ir.Stack) int {
	least, most := 0, 0
	for _, o := range e.g.Ops {
		if o.Run != nil && o.Run.Stack == t {
			least, most = min(least, o.Ahead), max(most, o.Ahead)
		}
	}
	return most - least
}
