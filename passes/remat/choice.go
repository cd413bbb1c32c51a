package remat

import (
	"ptc/ir"
	"ptc/passes/pass"
)

// Choice says which operations of the forward phase are rematerialized, on each device of
// its own. It is of the operations of @step by their number, so that it holds for every
// copy of the module that it was made for.
type Choice struct {
	picks  []*pick          // by device
	counts map[string][]int // by stack that is cut: instances of each part
	redo   map[int][]bool   // by number: in each part, or in all
	marked map[*ir.Op]bool  // what Split found for Run
	device func(stage int) int
	flops  []float64 // by device, for each microbatch: what Run added
	told   []string
}

// Told is what was found, in words, once a search is over.
func (x *Choice) Told() []string { return x.told }

// Split makes several stacks of those of which instances differ, in place of [Split].
func (x *Choice) Split(c *pass.Context, m *ir.Module) error {
	f := m.Func("step")
	parts := map[*ir.Stack][]*ir.Stack{}
	runs := runsOf(f)
	ops := make([]*ir.Op, len(f.Ops))
	copy(ops, f.Ops)
	number := make(map[*ir.Op]int, len(ops))
	for i, o := range ops {
		number[o] = i
	}
	x.marked = map[*ir.Op]bool{}
	counts := map[*ir.Stack][]int{}
	for _, s := range f.Stacks {
		counts[s] = x.counts[s.Name]
	}
	split(c, f, counts, func(s *ir.Stack, of []*ir.Stack) {
		parts[s] = of
		now := runsOf(f)
		for k, t := range of {
			for r, list := range now[t] {
				for i, o := range list {
					if x.again(number[runs[s][r][i]], k) {
						x.marked[o] = true
					}
				}
			}
		}
	})
	for i, o := range ops {
		if o.Run == nil || parts[o.Run.Stack] == nil {
			x.marked[o] = x.again(i, 0)
		}
	}
	return nil
}

// again reports whether operation i is rematerialized in part k.
func (x *Choice) again(i, k int) bool {
	list := x.redo[i]
	return len(list) > 0 && list[min(k, len(list)-1)]
}

// runsOf are the operations of the runs of each stack, in their order.
func runsOf(f *ir.Func) map[*ir.Stack][][]*ir.Op {
	out := map[*ir.Stack][][]*ir.Op{}
	f.Runs(func(run *ir.Run, ops []*ir.Op) {
		if run != nil {
			out[run.Stack] = append(out[run.Stack], ops)
		}
	})
	return out
}

// Run rematerializes what is chosen, in place of [Run].
func (x *Choice) Run(c *pass.Context, m *ir.Module) error {
	x.flops = make([]float64, len(x.picks))
	w := newRewriter(c, phasesOf(m.Func("step")), x.marked)
	w.added = func(o *ir.Op, flops float64) { x.flops[x.device(o.Stage.Or(0))] += flops }
	w.rewrite()
	c.Remarkf(nil, "@step: the backward phase rematerializes %d operations, for %.3g more FLOP", w.count, w.flops)
	return nil
}
