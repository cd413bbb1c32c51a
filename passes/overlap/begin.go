package overlap

import (
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/op"
)

// window is how many operations before a collective may move to overlap with it: a
// layer's worth of weight gradients.
const window = 8

// MaxAcross bounds the collectives over one set of mesh axes that are in flight during
// an entire run, so that there is room for those of its instances.
const MaxAcross = MaxOpen / 4

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
	f.Replace(s.with) // before the dones exist, which alone read values in flight
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

// task splits the collectives of a task: each ends in the task that starts it.
func (s *splitter) task(t *text) {
	outer := s.outside(t)
	s.dones[t] = s.split(outer)
	for i, x := range t.ops {
		if in := t.runs[x]; in != nil {
			s.dones[in] = s.split(s.inside(in, underWay(outer, i)))
		}
	}
}

// flight is a collective to be started at from in its text. Its `done` precedes the
// operation at to, its first reader or an earlier one, ahead iterations ahead.
type flight struct {
	x      *ir.Op
	from   int
	to     int
	ahead  int
	unread bool // by its text
}

// split makes the `done` of each flight, and returns them by the place that they precede.
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

// outside returns the flights of a text outside of runs, in order. The `done` of a result
// that the text does not read is at its end.
func (s *splitter) outside(t *text) (flights []*flight) {
	first := readers(t.ops)
	open := map[string][]*flight{} // by mesh axes, oldest first
	layers := layersOf(t)
	for i, x := range t.ops {
		if in := t.runs[x]; in != nil {
			for _, over := range in.meshes() {
				open[over] = landing(open[over], i, MaxAcross)
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

// landing returns the flights, oldest first, that stay in flight at operation i, at most
// so many. The oldest ones end there: they had the longest time, and the last ones would
// otherwise have nothing to overlap with.
func landing(open []*flight, i, most int) []*flight {
	still := slices.DeleteFunc(open, func(y *flight) bool { return y.to <= i })
	for len(still) > most {
		still[0].to = i
		still = still[1:]
	}
	return still
}

// underWay counts the flights during the run at i, by mesh axes.
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

// readers returns the place of the first operation that reads a value; the end
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

// fill moves kernels that the collective at i does not need from before it to after
// it, if its result is read soon: they then run concurrently with it. It stops at any
// other communication, whose order stays, and leaves it a kernel to overlap with.
func fill(ops []*ir.Op, i int) {
	x, overlapping := ops[i], kernelsDuring(ops, i)
	need := map[*ir.Value]bool{}
	for _, a := range x.Args {
		need[a] = true
	}
	var keep, later []*ir.Op
	first := x // of what is kept
	j := i
	for j > 0 && i-j+overlapping < window && op.Has(ops[j-1], op.Calls) && ops[j-1].Ahead == x.Ahead {
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

// kernelsDuring counts the kernels between the collective at i and its reader in the
// same iteration: at most [window], and as many if nothing there reads it.
func kernelsDuring(ops []*ir.Op, i int) (n int) {
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
	return slices.ContainsFunc(y.Args, func(a *ir.Value) bool { return a.Def == x })
}
