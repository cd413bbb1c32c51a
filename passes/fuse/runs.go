package fuse

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// timing says when operations can be done, where a program has runs: a kernel is done
// in one, for each instance, and reads what its instance has by then.
type timing struct {
	start map[*ir.Run]int // of each run: the place of its first operation in the program
	runs  map[int]*ir.Run
	of    map[*ir.Stack][]int // starts of its runs, in order
	early map[*ir.Op]int      // start of the first run in which the operation can be done
	// whole is, by `leave`, what the run has from outside, wherever it reads that, and what
	// earlier runs have from which it reads: nothing leaves a run before all instances are
	// through, and none begins before those runs are.
	whole map[*ir.Op][]*ir.Value
}

func newTiming(p *facts) *timing {
	t := &timing{map[*ir.Run]int{}, map[int]*ir.Run{}, map[*ir.Stack][]int{}, map[*ir.Op]int{}, map[*ir.Op][]*ir.Value{}}
	for i, o := range p.f.Ops {
		run := o.Run
		if run == nil {
			continue
		}
		if _, known := t.start[run]; !known {
			t.start[run], t.runs[i] = i, run
			t.of[run.Stack] = append(t.of[run.Stack], i)
		}
		t.early[o] = t.earliest(p, o)
	}
	t.outer(p)
	return t
}

// outer lists what each run has from outside: also for operations of later runs that
// may be done in it.
func (t *timing) outer(p *facts) {
	if len(t.start) == 0 {
		return
	}
	seen, has := map[*ir.Run]map[*ir.Value]bool{}, map[*ir.Run][]*ir.Value{}
	for run := range t.start {
		seen[run] = map[*ir.Value]bool{}
	}
	type pair struct{ from, to *ir.Run }
	read := map[pair]bool{}
	add := func(run *ir.Run, v *ir.Value) {
		if !seen[run][v] {
			seen[run][v] = true
			has[run] = append(has[run], v)
		}
	}
	for _, o := range p.f.Ops {
		if o.Run == nil {
			continue
		}
		starts := t.of[o.Run.Stack]
		k, _ := slices.BinarySearch(starts, t.early[o])
		for _, at := range starts[k:] {
			if at > t.start[o.Run] {
				break
			}
			run := t.runs[at]
			for _, v := range o.Args {
				if v = p.stored(v); v.Def != nil && v.In() == nil && p.ops[v.Def].index < at {
					add(run, v)
				}
			}
		}
	}
	for _, o := range p.f.Ops { // earlier runs first, so that theirs are complete
		for _, v := range o.Args {
			if d := p.source(v); d != nil && o.Run != nil && d.Run != nil && d.Run != o.Run && !read[pair{d.Run, o.Run}] {
				read[pair{d.Run, o.Run}] = true
				for _, w := range has[d.Run] {
					add(o.Run, w)
				}
			}
		}
	}
	for _, o := range p.f.Ops {
		if o.Name == op.Leave {
			t.whole[o] = has[o.Run]
		}
	}
}

// needs are the values that must be there before o: its operands, and of what leaves
// a run all that the run has from outside.
func (p *facts) needs(o *ir.Op) []*ir.Value {
	if more := p.time.whole[o]; len(more) > 0 {
		return append(slices.Clone(o.Args), more...)
	}
	return o.Args
}

// earliest is the start of the first run of its stack in which o can be done: its
// operands are there, from outside or from the same instance.
func (t *timing) earliest(p *facts, o *ir.Op) int {
	if op.Of(o).Class == op.Boundary {
		return t.start[o.Run]
	}
	at := t.of[o.Run.Stack][0]
	for _, v := range o.Args {
		d := v.Def
		if d == nil {
			continue
		}
		if v.In() != nil {
			at = max(at, t.early[d])
			continue
		}
		starts := t.of[o.Run.Stack]
		if k, _ := slices.BinarySearch(starts, p.ops[d].index+1); k < len(starts) {
			at = max(at, starts[k])
		}
	}
	return at
}

func stackOf(o *ir.Op) *ir.Stack {
	if o.Run == nil {
		return nil
	}
	return o.Run.Stack
}

// sharedRun reports whether two groups, of which b reads a, can be done in one run,
// and in which. Where b cannot be done in a's, nothing else of a's may be needed
// before b's.
func (p *grouping) sharedRun(a, b *group) (run int, ok bool) {
	if a.stack != b.stack {
		return 0, false
	}
	if a.run == b.run {
		return a.run, true
	}
	if p.ownRuns {
		return 0, false
	}
	if b.early <= a.run {
		return a.run, true
	}
	for _, o := range a.ops {
		for _, v := range o.Results {
			for _, r := range p.in.readers(v) {
				if to := p.of[r.o]; to != b && (to == nil || to.run < b.run) {
					return 0, false
				}
			}
		}
	}
	return b.run, true
}
