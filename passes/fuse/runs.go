package fuse

import (
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
}

func (p *program) timing() *timing {
	t := &timing{map[*ir.Run]int{}, map[int]*ir.Run{}, map[*ir.Stack][]int{}, map[*ir.Op]int{}}
	for i, o := range p.f.Ops {
		run := o.Run
		if run == nil {
			continue
		}
		if _, known := t.start[run]; !known {
			t.start[run], t.runs[i] = i, run
			t.of[run.Stack] = append(t.of[run.Stack], i)
		}
		t.early[o] = p.early(t, o)
	}
	return t
}

// early is the start of the first run of its stack in which o can be done: its
// operands are there, from outside or from the same instance.
func (p *program) early(t *timing, o *ir.Op) int {
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
		for _, s := range t.of[o.Run.Stack] {
			if s > p.index[d] {
				at = max(at, s)
				break
			}
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

// together reports whether two groups, of which b reads a, can be done in one run,
// and in which. Where b cannot be done in a's, nothing else of a's may be needed
// before b's.
func (p *program) together(a, b *group) (run int, ok bool) {
	if a.stack != b.stack {
		return 0, false
	}
	if a.run == b.run || b.early <= a.run {
		return a.run, true
	}
	for _, o := range a.ops {
		for _, v := range o.Results {
			for _, r := range p.readers(v) {
				if to := p.of[r.o]; to != b && (to == nil || to.run < b.run) {
					return 0, false
				}
			}
		}
	}
	return b.run, true
}
