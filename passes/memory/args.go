package memory

import (
	"slices"

	"ptc/ir"
)

// series are arguments that are numbered, at least one of them in a run: those from
// number first on, unit apart. They lie side by side, so that a function finds those of
// its instances in a row, whatever instances it has: in one all blocks may be alike, and
// in another the first one is another.
type series struct {
	names       []named
	first, last int // numbers
	unit        int
	at, step    int64
	placed      bool
}

// seriesOf makes series of the arguments of the functions of a device. It reports whether
// all are: of those of which two numbers are open, one in each of two functions, no
// series can be made.
func seriesOf(n names) (map[string][]*series, bool) {
	out := map[string][]*series{}
	for text, list := range n {
		for _, x := range list {
			s := &series{names: []named{x}}
			var others []*series
			for _, t := range out[text] {
				if slices.ContainsFunc(t.names, x.meets) {
					s.names = append(s.names, t.names...)
				} else {
					others = append(others, t)
				}
			}
			if out[text] = append(others, s); !s.measure() {
				return nil, false
			}
		}
	}
	return out, true
}

// measure finds the numbers. It reports whether one alone is open.
func (s *series) measure() bool {
	open := -1
	for _, x := range s.names {
		if o := x.open(); o >= 0 && open >= 0 && o != open {
			return false
		} else if o >= 0 {
			open = o
		}
	}
	if open < 0 {
		return true // joined by what follows
	}
	for i, x := range s.names {
		a := x.numbers[open]
		last := a.plus + a.times*(x.count-1)
		if i == 0 {
			s.first, s.last = a.plus, last
		}
		s.unit = gcd(gcd(s.unit, a.times), abs(a.plus-s.first))
		s.first, s.last = min(s.first, a.plus), max(s.last, last)
	}
	s.unit = max(s.unit, 1)
	return true
}

func abs(n int) int { return max(n, -n) }

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// of is where a is, whose names x are.
func (s *series) of(a *ir.Arg, x named) (int64, ir.Spread) {
	open := 0
	for _, y := range s.names {
		open = max(open, y.open())
	}
	n := x.numbers[open]
	at := s.at + s.step*int64((n.plus-s.first)/s.unit)
	by := s.step * int64(n.times/s.unit)
	switch {
	case a.Value.Micro && x.count == 1:
		return at, ir.Spread{MicroRing: 1}
	case a.Value.Micro:
		return at, ir.Spread{MicroStep: by, MicroRing: x.count}
	case a.Value.Each != nil:
		return at, ir.Spread{Step: by, Ring: x.count}
	}
	return at, ir.Spread{}
}

// count is how many places there are.
func (s *series) count() int64 { return int64((s.last-s.first)/s.unit) + 1 }

// placeArgs gives arguments their places: the same for the same role and path
// in every entry function, apart from the temporaries. Where several in a row are of
// one stack, those of its first instance come first, then those of the second.
func (p *planner) placeArgs(f *ir.Func) {
	for i := 0; i < len(f.Args); {
		j := i + 1
		for s := f.Args[i].Value.Each; s != nil && j < len(f.Args) && f.Args[j].Value.Each == s; {
			j++
		}
		for _, mem := range memories {
			p.placeRow(f.Args[i:j], mem, f.Micro)
		}
		i = j
	}
}

// placeRow places those of one stack, or one alone, that are in a memory, of a function
// with micro microbatches.
func (p *planner) placeRow(args []*ir.Arg, memory ir.Memory, micro int) {
	rows := map[int64][]*series{} // that have no place yet, by how many places they have
	var counts []int64
	bytes := map[*series]int64{}
	for _, a := range args {
		if a.Memory != memory {
			continue
		}
		size := aligned(int64(max(1, a.Value.Type.Bytes())))
		s := p.seriesOf(a, micro)
		if s == nil {
			p.placeAlone(a, size)
			continue
		}
		if bytes[s] = max(bytes[s], size); s.placed || slices.Contains(rows[s.count()], s) {
			continue
		}
		if rows[s.count()] == nil {
			counts = append(counts, s.count())
		}
		rows[s.count()] = append(rows[s.count()], s)
	}
	for _, n := range counts {
		at := p.top[memory]
		for _, s := range rows[n] {
			s.at, s.placed = at, true
			at += bytes[s]
		}
		for _, s := range rows[n] {
			s.step = at - p.top[memory]
		}
		p.top[memory] += n * (at - p.top[memory])
	}
	for _, a := range args {
		if s := p.seriesOf(a, micro); s != nil && a.Memory == memory {
			at, by := s.of(a, namedBy(a, micro))
			a.At, a.Spread = ir.OffsetOf(at), by
		}
	}
}

// placeAlone places an argument that is there once.
func (p *planner) placeAlone(a *ir.Arg, size int64) {
	key := a.Role + " " + a.Path
	at, ok := p.fixed[key]
	if !ok {
		at = p.top[a.Memory]
		p.fixed[key] = at
		p.top[a.Memory] += size
	}
	a.At = ir.OffsetOf(at)
}

func (p *planner) seriesOf(a *ir.Arg, micro int) *series {
	x := namedBy(a, micro)
	for _, s := range p.series[x.text] {
		if slices.ContainsFunc(s.names, x.same) {
			return s
		}
	}
	return nil
}

// number finds the series of arguments. Where there can be none, functions are written
// out.
func (p *planner) number() {
	var ok bool
	if p.series, ok = seriesOf(namesOf(p.entries)); ok {
		return
	}
	for i, f := range p.entries {
		g := f.Unrolled()
		p.m.Funcs[slices.Index(p.m.Funcs, f)], p.entries[i] = g, g
	}
	p.series = nil
}
