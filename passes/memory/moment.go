package memory

import (
	"cmp"
	"math"
	"slices"

	"ptc/ir"
)

// moment is when an operation runs. Most of a program stands once and runs once: pos
// is the place in the text. In a run, instances of a stack take turns, and the
// operations of an iteration run in the order of the text; which iteration is said from the
// point of view of a place in memory, see [timeline.of].
type moment struct {
	seg       int // where the run begins in the text; of an operation outside, its place
	iteration int
	pos       int
}

// never is before everything.
var never = moment{seg: -1}

func (m moment) compare(n moment) int {
	return cmp.Or(cmp.Compare(m.seg, n.seg), cmp.Compare(m.iteration, n.iteration), cmp.Compare(m.pos, n.pos))
}

func (m moment) before(n moment) bool { return m.compare(n) < 0 }

func later(a, b moment) moment {
	if a.before(b) {
		return b
	}
	return a
}

func earlier(a, b moment) moment {
	if b.before(a) {
		return b
	}
	return a
}

// through is the iteration of what lasts until all instances are through, and -through that
// of what begins before any of them.
const through = math.MaxInt32

// timeline says when the operations of a function run.
type timeline struct {
	f     *ir.Func
	first []int // by operation: where its run begins, or it itself
	last  []int // and ends
	place map[*ir.Op]int
	// lo and hi are the first and the last operation of tasks whose ticks are not in the
	// order of the text; hi is less where there are none.
	lo, hi int
	// alone are calls that are alone in their runs, whose instances may run at once: but
	// for those whose results have places of arguments, as updates.
	alone map[*ir.Op]bool
}

func timelineOf(f *ir.Func) *timeline {
	t := &timeline{f: f, place: make(map[*ir.Op]int, len(f.Ops)), alone: map[*ir.Op]bool{}}
	for i, o := range f.Ops {
		t.place[o] = i
	}
	result := map[*ir.Value]bool{}
	for _, r := range f.Results {
		result[r.Value] = true
	}
	f.Runs(func(run *ir.Run, ops []*ir.Op) {
		at := len(t.first)
		if o := ops[0]; run != nil && len(ops) == 1 && o.Callee != nil {
			t.alone[o] = !slices.ContainsFunc(o.Results, func(v *ir.Value) bool { return result[v] })
		}
		for range ops {
			t.first, t.last = append(t.first, at), append(t.last, at+len(ops)-1)
		}
	})
	t.stretch()
	return t
}

// end is when the program is over.
func (t *timeline) end() moment { return moment{seg: len(t.f.Ops), pos: len(t.f.Ops)} }

// of is when operation i runs for the value that is in a place, of which there is one
// for each instance, side by side: k is in place k + slot. Seen from a place, an
// operation that runs for the instance whose value is in the next place comes a
// iteration later, or an iteration earlier where the run goes down. All iterations are relative.
func (t *timeline) of(i, slot int) moment {
	m := moment{seg: t.first[i], pos: i}
	if o := t.f.Ops[i]; o.Run != nil {
		m.iteration = -o.Ahead
	}
	return t.shifted(m, slot)
}

// shifted is when m is for what is by as many places further on.
func (t *timeline) shifted(m moment, slots int) moment {
	if m.seg < 0 || m.seg >= len(t.f.Ops) || m.iteration == through || m.iteration == -through {
		return m
	}
	switch run := t.f.Ops[m.seg].Run; {
	case run == nil:
	case run.Down:
		m.iteration += slots
	default:
		m.iteration -= slots
	}
	return m
}

// whole is when the run of operation i is over for all instances.
func (t *timeline) whole(i int) moment {
	if i >= len(t.f.Ops) {
		return t.end()
	}
	m := moment{seg: t.first[i], pos: i}
	if t.f.Ops[i].Run != nil {
		m.iteration = through
	}
	return m
}

// collapsed are the first and the last operation between two moments, where every
// instance of a run is in the place of all.
func (t *timeline) collapsed(from, to moment) (lo, hi int) {
	lo = max(0, from.seg)
	if hi = to.seg; hi >= 0 && hi < len(t.last) {
		hi = t.last[hi]
	}
	return lo, max(lo, hi)
}

// life is when a value is in use: from when it is written until when the last
// operation that uses it is done. read is when the last one that reads it is issued,
// never where it is still being sent then.
type life struct{ from, to, read moment }

func (a life) and(b life) life {
	l := life{earlier(a.from, b.from), later(a.to, b.to), never}
	switch {
	case a.read != never && b.read != never:
		l.read = later(a.read, b.read)
	case a.to.before(b.read): // as a sum is over when it is reduced
		l.read = b.read
	case b.to.before(a.read):
		l.read = a.read
	}
	return l
}

func (t *timeline) shiftedLife(l life, slots int) life {
	return life{t.shifted(l.from, slots), t.shifted(l.to, slots), t.shifted(l.read, slots)}
}

// at is where o is in the text.
func (t *timeline) at(o *ir.Op) int { return t.place[o] }
