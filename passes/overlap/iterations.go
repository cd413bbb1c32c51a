package overlap

import (
	"cmp"
	"slices"

	"ptc/ir"
)

// behind is how many iterations after its start a collective ends that its run does not
// read, if its operand need not be freed: enough work to even out differences between
// layers. It uses the memory of as many instances unless it is in place.
const behind = 2

// inside returns the flights of a run, for one instance that stands for all, in order.
// A value that the run reads is awaited where the instance reads it. A value that it does
// not read, such as a gradient reduced for the update, is awaited [behind] iterations
// later, at the end of the text; one iteration later if the collective shrinks it. outer
// counts the flights during the entire run, by mesh axes.
func (s *splitter) inside(t *text, outer map[string]int) (flights []*flight) {
	from, to := t.body()
	first := t.reads()
	for i := from; i < to; i++ {
		x := t.ops[i]
		if !s.flies(x) {
			continue
		}
		y := t.flight(i, to, first)
		if !y.unread && y.to <= i+1 && y.ahead >= x.Ahead {
			s.because(x, nextReads)
		} else if s.c.May("start early", x) {
			flights = append(flights, y)
		}
	}
	t.fit(flights, outer)
	return flights
}

// flight makes that of the collective at i, from its first reader. If nothing in its
// text reads it, its `done` is at the end.
func (t *text) flight(i, end int, first map[*ir.Value]read) *flight {
	x := t.ops[i]
	y := &flight{x: x, from: i, to: end, ahead: x.Ahead - behind, unread: true}
	if shrinks(x) {
		y.ahead = x.Ahead - 1
	}
	for _, v := range x.Results {
		if r, ok := first[v]; ok && (y.unread || r.before(read{y.to, y.ahead})) {
			y.to, y.ahead, y.unread = min(r.at, end), r.ahead, false
		}
	}
	return y
}

// read is a place of a text where a value is read, so many iterations ahead.
type read struct{ at, ahead int }

// before reports whether an instance comes to r before it comes to s.
func (r read) before(s read) bool {
	return r.ahead > s.ahead || r.ahead == s.ahead && r.at < s.at
}

// reads maps each value to its first read.
func (t *text) reads() map[*ir.Value]read {
	first := map[*ir.Value]read{}
	for i, x := range t.ops {
		for _, a := range x.Args {
			r := read{i, x.Ahead}
			if s, ok := first[a]; !ok || r.before(s) {
				first[a] = r
			}
		}
	}
	return first
}

// fit bounds the flights of a run over one set of mesh axes, together with the outer
// ones, to [MaxOpen]. If there are more, values that the run does not read are awaited
// where they started, an iteration later; if that is not enough, gathers are fewer
// iterations ahead; and if not even one is possible, no flight crosses an iteration, and
// the oldest is awaited as outside of runs.
func (t *text) fit(flights []*flight, outer map[string]int) {
	for _, mesh := range t.meshes() {
		of := slices.DeleteFunc(slices.Clone(flights), func(y *flight) bool { return over(y.x) != mesh })
		room := MaxOpen - outer[mesh]
		if peak(of, t.run.Stack.Count) > room {
			for _, y := range of {
				if y.unread {
					y.to, y.ahead = y.from+1, y.x.Ahead-1
				}
			}
		}
		for peak(of, t.run.Stack.Count) > room && t.nearer(flights) {
		}
		if peak(of, t.run.Stack.Count) > room {
			t.inIteration(flights)
			var open []*flight
			for _, y := range of {
				open = append(landing(open, y.from, room-1), y)
			}
		}
	}
}

// nearer moves operations that are more than an iteration ahead one iteration nearer, and
// reports whether there were any.
func (t *text) nearer(flights []*flight) (found bool) {
	for _, x := range t.ops {
		if x.Ahead > 1 {
			x.Ahead--
			found = true
		}
	}
	for _, y := range flights {
		if y.ahead > 1 {
			y.ahead--
		}
	}
	return found
}

// inIteration lets every operation of the text run in the iteration of its instance.
func (t *text) inIteration(flights []*flight) {
	_, end := t.body()
	for _, x := range t.ops {
		x.Ahead = 0
	}
	for _, y := range flights {
		if y.ahead = 0; y.unread {
			y.to = end
		}
	}
}

// peak is the most flights of a run at once, in an iteration in the middle of it:
// iterations at its ends have fewer.
func peak(flights []*flight, count int) (most int) {
	for _, n := range underWayAt(flights, count) {
		most = max(most, n)
	}
	return most
}

// underWayAt counts the flights of a run that are open after the start of each. At a
// place of the text a collective is open for as many instances as its `done` is iterations
// after its start, plus one between a start and the place of its `done`, minus one between
// a `done` and the place of its start, and never for more instances than there are.
func underWayAt(flights []*flight, count int) []int {
	type change struct{ at, flight, by int }
	changes := make([]change, 0, 2*len(flights))
	open, n := make([]int, len(flights)), 0
	for i, y := range flights {
		open[i] = y.x.Ahead - y.ahead
		n += min(open[i], count)
		changes = append(changes, change{y.from, i, 1}, change{y.to, i, -1})
	}
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	starts := make([]int, len(flights)) // in the order of the text
	for i := range starts {
		starts[i] = i
	}
	slices.SortStableFunc(starts, func(i, j int) int { return cmp.Compare(flights[i].from, flights[j].from) })
	out, next := make([]int, len(flights)), 0
	for _, i := range starts {
		for ; next < len(changes) && changes[next].at <= flights[i].from; next++ {
			c := changes[next]
			n -= min(open[c.flight], count)
			open[c.flight] += c.by
			n += min(open[c.flight], count)
		}
		out[i] = n
	}
	return out
}
