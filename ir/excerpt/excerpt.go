package excerpt

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// Excerpt is a function with fewer instances, and its frames.
type Excerpt struct {
	F      *ir.Func
	Frames []Frame
}

// Frame is where instances have values of their own: from Lo up to Hi in truth, from
// Begin up to End in the excerpt.
type Frame struct {
	Memory     ir.Memory
	Lo, Hi     int64
	Begin, End int64
}

// Of is an excerpt of f. Operations keep their numbers.
func Of(f *ir.Func) Excerpt {
	if len(f.Stacks) == 0 {
		return Excerpt{F: f}
	}
	e := &excerpter{g: f.Clone(), moved: map[*ir.Value]int64{}, readers: map[*ir.Value][]reader{}}
	e.memory = op.Memories(e.g)
	for _, o := range e.g.Ops {
		for n, v := range o.Args {
			e.readers[v] = append(e.readers[v], reader{o, n})
		}
	}
	for _, mem := range ir.Memories() {
		e.top = max(e.top, f.Attrs.Int(mem.String(), 0), f.Attrs.Int("arena", 0))
	}
	e.top = (e.top + alignment - 1) / alignment * alignment
	for i := range f.Stacks {
		if !e.stack(f.Stacks[i], e.g.Stacks[i]) {
			return Excerpt{F: f}
		}
	}
	if len(e.frames) == 0 && !e.fewer {
		return Excerpt{F: f}
	}
	return Excerpt{e.g, e.frames}
}

// alignment is a multiple of that of all places.
const alignment = 1 << 12

type excerpter struct {
	g       *ir.Func
	memory  map[*ir.Value]ir.Memory
	moved   map[*ir.Value]int64 // by how much, of what is there once and lies in a frame
	top     int64               // of what has addresses
	frames  []Frame
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
	set    func(at int64)
}

func (x family) size() int64 { return int64(x.v.Type.Bytes()) }

// hull is all bytes of the instances, and those between.
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
		if a.Value.Each == t && !add(family{a.Value, a.Memory, a.At.Bytes(), a.Spread, func(at int64) { a.At = ir.OffsetOf(at) }}) {
			return nil, 0, false
		}
	}
	for _, o := range e.g.Ops {
		if o.Run == nil || o.Run.Stack != t || o.Name == ir.Leave {
			continue
		}
		o.At, o.Spread = slices.Clone(o.At), slices.Clone(o.Spread)
		for j, v := range o.Results {
			if j >= len(o.Spread) || j >= len(o.At) {
				continue
			}
			if !add(family{v, e.memory[v], o.At[j], o.Spread[j], func(at int64) { o.At[j] = at }}) {
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
