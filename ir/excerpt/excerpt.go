package excerpt

import (
	"slices"
	"sort"

	"ptc/ir"
	"ptc/ir/op"
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
	Lo, Hi int64
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
	e.memory = op.Memories(e.g)
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
	x       Excerpt // its frames
	memory  map[*ir.Value]ir.Memory
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

// family is a value that instances have each, how they lie, and who notes another place.
type family struct {
	v      *ir.Value
	memory ir.Memory
	at     int64
	spread ir.Spread
	set    func(at int64, micro microSpread)
}

// microSpread is how microbatches lie, see [ir.Spread].
type microSpread struct {
	step int64
	ring int
}

func microOf(s ir.Spread) microSpread { return microSpread{s.MicroStep, s.MicroRing} }

// put has s be so, if there is one for each microbatch.
func (m microSpread) put(s *ir.Spread) {
	if s.MicroRing > 0 {
		s.MicroStep, s.MicroRing = m.step, m.ring
	}
}

func (x family) size() int64 { return int64(x.v.Type.Bytes()) }

// hull is all bytes of the instances of one microbatch, and those between.
func (x family) hull(count int) (lo, hi int64) {
	return x.at, x.at + x.spread.Step*int64(count-1) + x.size()
}

// stack makes s, which is t in the excerpt, smaller if that is possible and of use. It
// reports whether there can be an excerpt.
func (e *excerpter) stack(s, t *ir.Stack) bool {
	apart, ring, ok := e.families(t)
	if !ok {
		return false
	}
	var clusters []*cluster
	for _, x := range apart {
		if clusters, ok = join(clusters, x, s.Count); !ok {
			return false
		}
	}
	reach := int64(1)
	for _, c := range clusters {
		reach = max(reach, c.reach())
	}
	few := 2*ring + int(reach) + e.ahead(t) + 4
	few += ((s.Count-few)%ring + ring) % ring
	if few >= s.Count {
		return true
	}
	for _, c := range clusters {
		if !e.move(c, s.Count, few) {
			return false
		}
	}
	t.Count = few
	e.fewer = true
	for _, a := range e.g.Args {
		a.Spread.Ring = shortened(a.Spread.Ring, a.Value.Each == t, s.Count, few)
	}
	for _, o := range e.g.Ops {
		for j := range o.Spread {
			o.Spread[j].Ring = shortened(o.Spread[j].Ring, o.Results[j].In() == t, s.Count, few)
		}
	}
	return true
}

func shortened(ring int, here bool, count, few int) int {
	if here && ring >= count {
		return few
	}
	return ring
}

// families lists what instances of t have each in a place of its own, and the
// least common multiple of the lengths of rings.
func (e *excerpter) families(t *ir.Stack) (apart []family, ring int, ok bool) {
	ring = 1
	add := func(x family) bool {
		switch {
		case x.spread.Step == 0 || x.spread.Ring == 1 || x.spread.Ring == 0:
		case x.spread.Ring < t.Count:
			ring *= x.spread.Ring / gcd(ring, x.spread.Ring)
		case x.spread.Step < 0:
			return false
		default:
			apart = append(apart, x)
		}
		return ring < 1<<10
	}
	for _, a := range e.g.Args {
		if a.Value.Each == t && !add(family{a.Value, a.Memory, a.At.Bytes(), a.Spread, func(at int64, m microSpread) { a.At = ir.OffsetOf(at); m.put(&a.Spread) }}) {
			return nil, 0, false
		}
	}
	for _, o := range e.g.Ops {
		if o.Run == nil || o.Run.Stack != t || o.Name == ir.Leave {
			continue
		}
		for j, v := range o.Results {
			if j >= len(o.Spread) || j >= len(o.At) {
				continue
			}
			if !add(family{v, e.memory[v], o.At[j], o.Spread[j], func(at int64, m microSpread) { o.At[j] = at; m.put(&o.Spread[j]) }}) {
				return nil, 0, false
			}
		}
	}
	return apart, ring, true
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// ahead is how far apart operations of one turn are, in instances.
func (e *excerpter) ahead(t *ir.Stack) int {
	least, most := 0, 0
	for _, o := range e.g.Ops {
		if o.Run != nil && o.Run.Stack == t {
			least, most = min(least, o.Ahead), max(most, o.Ahead)
		}
	}
	return most - least
}
