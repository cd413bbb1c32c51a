package overlap

import (
	"cmp"
	"slices"

	"ptc/ir"
)

// behind is how many turns behind its start a collective is done that its run does not
// read, if the memory of what it sends need not be freed: so much work evens out what
// layers differ in, and it takes that many instances of memory where it is not in place.
const behind = 2

// inside are the flights of a run, for one instance in the place of all, in order.
// What the run reads is waited for where the instance does. What it does not read, such
// as a gradient that is reduced for the update, is waited for [behind] turns later, at the
// end of the text; one turn later where it leaves less than it reads. beside is how many others are under way all the time, by mesh axes.
func (s *splitter) inside(t *text, beside map[string]int) (flights []*flight) {
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
	t.fit(flights, beside)
	return flights
}

// flight is that of the collective at i, from who reads it first. What nobody in
// its text reads has its `done` at the end.
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

// read is a place of a text where a value is read, so many turns ahead.
type read struct{ at, ahead int }

// before reports whether an instance comes to r before it comes to s.
func (r read) before(s read) bool {
	return r.ahead > s.ahead || r.ahead == s.ahead && r.at < s.at
}

// reads gives for each value where it is read first.
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

// fit bounds the flights of a run that are under way over one set of mesh axes, with
// those under way, to [MaxOpen]. Where there are more, what the run does not read is
// waited for where it started, a turn later; if that is not enough, gathers are fewer
// turns ahead; and if not even one is possible, nothing goes on beyond the turn in which
// it started, and the oldest is waited for as outside of runs.
func (t *text) fit(flights []*flight, beside map[string]int) {
	for _, mesh := range t.meshes() {
		of := slices.DeleteFunc(slices.Clone(flights), func(y *flight) bool { return over(y.x) != mesh })
		room := MaxOpen - beside[mesh]
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
			t.inTurn(flights)
			var open []*flight
			for _, y := range of {
				open = append(landing(open, y.from, room-1), y)
			}
		}
	}
}

// nearer lets what is more than a turn ahead be a turn less, and reports whether there
// was any.
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

// inTurn lets every operation of the text run in the turn of its instance.
func (t *text) inTurn(flights []*flight) {
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

// peak is how many of the flights of a run are under way at most, in a turn in the
// middle of it: turns at its ends have fewer.
func peak(flights []*flight, count int) (most int) {
	for _, n := range underWayAt(flights, count) {
		most = max(most, n)
	}
	return most
}

// underWayAt is how many of the flights of a run are under way behind the start of each. At
// a place of the text, those of as many instances are as the `done` is turns behind the
// start, and one more between a start and the place of its `done`, one less between a
// `done` and the place of its start; of no flight those of more instances than there are.
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
