package overlap

import (
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
)

// window is how many operations before a collective may be moved beside it: a
// layer's worth of the gradients of weights.
const window = 8

// MaxBeside bounds the collectives over one set of mesh axes that are under way
// during a whole run, so that there is room for those of its instances.
const MaxBeside = MaxOpen / 4

// begin splits collectives that have something to overlap with into start and
// done, and returns how many there are in a step.
func (o *options) begin(f *ir.Func) int64 {
	tasks := textsOf(f)
	s := &splitter{options: o, f: f, with: map[*ir.Value]*ir.Value{}, dones: map[*text]map[int][]*ir.Op{}}
	for _, t := range tasks {
		for _, t := range t.all() {
			for i, x := range t.ops {
				if o.movable(x) && !passesOn(x) {
					fill(t.ops, i)
				}
			}
		}
		s.task(t)
	}
	f.Replace(s.with) // before the dones, which alone read what is under way, are there
	for t, at := range s.dones {
		t.insert(at)
	}
	write(f, tasks)
	return s.started
}

// splitter splits the collectives of a function.
type splitter struct {
	*options
	f       *ir.Func
	with    map[*ir.Value]*ir.Value
	dones   map[*text]map[int][]*ir.Op
	started int64
}

// task splits the collectives of a task: whatever is started in it is done in it.
func (s *splitter) task(t *text) {
	beside := s.outside(t)
	s.dones[t] = s.split(beside)
	for i, x := range t.ops {
		if in := t.runs[x]; in != nil {
			s.dones[in] = s.split(s.inside(in, underWay(beside, i)))
		}
	}
}

// flight is a collective that is to be started, and where it stands in its text. Its
// `done` stands before the operation at a place, that of its first reader or an earlier
// one, so many turns ahead.
type flight struct {
	x      *ir.Op
	from   int
	to     int
	ahead  int
	unread bool // by its text
}

// split makes the `done` of each flight, by the places before which they stand.
func (s *splitter) split(flights []*flight) map[int][]*ir.Op {
	dones := map[int][]*ir.Op{}
	for _, y := range flights {
		d := doneOf(s.f, y.x, s.with)
		d.Ahead = y.ahead
		y.x.Start = true
		dones[y.to] = append(dones[y.to], d)
		s.started += s.f.TimesOf(y.x)
	}
	return dones
}

// insert puts operations before those at the places.
func (t *text) insert(before map[int][]*ir.Op) {
	out := make([]*ir.Op, 0, len(t.ops)+len(before))
	for i := 0; i <= len(t.ops); i++ {
		out = append(out, before[i]...)
		if i < len(t.ops) {
			out = append(out, t.ops[i])
		}
	}
	t.ops = out
}

// outside are the flights of a text outside of runs, in order. What nobody in the text
// reads is waited for at its end.
func (s *splitter) outside(t *text) (flights []*flight) {
	first := readers(t.ops)
	open := map[string][]*flight{} // by mesh axes, oldest first
	layers := layersOf(t)
	for i, x := range t.ops {
		if in := t.runs[x]; in != nil {
			for _, over := range in.meshes() {
				open[over] = landing(open[over], i, MaxBeside)
			}
		}
		if !s.flies(x) {
			continue
		}
		to := len(t.ops)
		for _, r := range x.Results {
			to = min(to, first(r))
		}
		if shrinks(x) {
			to = min(to, layers.afterNext(i))
		}
		if to == i+1 {
			s.because(x, nextReads)
			continue
		}
		if !s.c.May("start early", x) {
			continue
		}
		y := &flight{x: x, from: i, to: to}
		open[over(x)] = append(landing(open[over(x)], i, MaxOpen-1), y)
		flights = append(flights, y)
	}
	return flights
}

const nextReads = "the next operation reads its result"

// flies reports whether x is a collective to be started, and records why another one is not.
func (s *splitter) flies(x *ir.Op) bool {
	if !group(x) {
		return false
	}
	why := s.obstacle(x)
	if why != "" {
		s.because(x, why)
	}
	return why == ""
}

// landing are the flights, oldest first, that are still under way where there may be
// so many at the operation at i. The oldest ones are waited for there: they had the
// longest time, and what comes last would otherwise have nothing to overlap with.
func landing(open []*flight, i, most int) []*flight {
	still := slices.DeleteFunc(open, func(y *flight) bool { return y.to <= i })
	for len(still) > most {
		still[0].to = i
		still = still[1:]
	}
	return still
}

// underWay is how many flights are under way during the run that stands at i, by mesh axes.
func underWay(flights []*flight, i int) map[string]int {
	n := map[string]int{}
	for _, y := range flights {
		if y.from < i && i < y.to {
			n[over(y.x)]++
		}
	}
	return n
}

// over names the mesh axes of a collective.
func over(x *ir.Op) string { return strings.Join(x.Attrs.Names("over"), ",") }

// meshes are the mesh axes of the collectives of a text.
func (t *text) meshes() (out []string) {
	for _, x := range t.ops {
		if group(x) && !slices.Contains(out, over(x)) {
			out = append(out, over(x))
		}
	}
	return out
}

// readers gives the place of the first operation that reads a value; the end
// for one that only leaves the function.
func readers(ops []*ir.Op) func(*ir.Value) int {
	first := map[*ir.Value]int{}
	for i, x := range ops {
		for _, a := range x.Args {
			if _, ok := first[a]; !ok {
				first[a] = i
			}
		}
	}
	return func(v *ir.Value) int {
		if i, ok := first[v]; ok {
			return i
		}
		return len(ops)
	}
}

func types(x *ir.Op) []ir.Type {
	var out []ir.Type
	for _, r := range x.Results {
		out = append(out, r.Type.Clone())
	}
	return out
}

// fill moves kernels that the collective at i does not need from before it to
// behind it, where its result is read soon: they run concurrently with it then. It stops at
// whatever else communicates, whose order stays, and leaves a kernel beside that.
func fill(ops []*ir.Op, i int) {
	x, beside := ops[i], kernelsBeside(ops, i)
	need := map[*ir.Value]bool{}
	for _, a := range x.Args {
		need[a] = true
	}
	var keep, later []*ir.Op
	first := x // of what is kept
	j := i
	for j > 0 && i-j+beside < window && op.Has(ops[j-1], op.Calls) && ops[j-1].Ahead == x.Ahead {
		j--
		y := ops[j]
		needed := j > 0 && group(ops[j-1]) && reads(first, ops[j-1])
		for _, r := range y.Results {
			needed = needed || need[r]
		}
		if !needed {
			later = append(later, y)
			continue
		}
		keep, first = append(keep, y), y
		for _, a := range y.Args {
			need[a] = true
		}
	}
	slices.Reverse(keep)
	slices.Reverse(later)
	copy(ops[j:], slices.Concat(keep, []*ir.Op{x}, later))
}

// kernelsBeside is how many kernels stand between the collective at i and its reader
// in the same turn: at most [window], and as many where nobody there reads it.
func kernelsBeside(ops []*ir.Op, i int) (n int) {
	for _, y := range ops[i+1:] {
		if n == window || reads(y, ops[i]) {
			return n
		}
		if op.Has(y, op.Calls) && y.Ahead == ops[i].Ahead {
			n++
		}
	}
	return window
}

// reads reports whether y reads a result of x.
func reads(y, x *ir.Op) bool {
	for _, a := range y.Args {
		if a.Def == x {
			return true
		}
	}
	return false
}
