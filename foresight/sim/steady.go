package sim

import (
	"fmt"
	"iter"

	"ptc/foresight/machine"
	"ptc/internal/collective"
	"ptc/internal/rolled"
	"ptc/runtime/program"
)

// enough is how many instances follow one another when the time from one to the next is taken.
const enough = 16

// steady is the time from one instance of the largest stack to the next in the runs of one direction, with nothing before and after
// them. Exchanges go on while kernels run where the plan has them do so, and slow them down. A device with fewer instances takes no less
// for each: the first ones start with nothing under way, and the last ones end so.
func (b *builder) steady(down bool) (least machine.PS, err error) {
	count := enough
	for _, r := range b.who.ranks {
		_, n := b.largest(int(r))
		count = min(count, n)
	}
	half := count / 2
	for i, first := range []bool{false, true} { // the first microbatch adds to no sums
		many, err := b.alone(count, down, first)
		if err != nil {
			return 0, err
		}
		few, err := b.alone(half, down, first)
		if err != nil {
			return 0, err
		}
		if t := max(0, many-few) / machine.PS(count-half); i == 0 || t < least {
			least = t
		}
	}
	return least, nil
}

// largest is the number, from 1 on, of the stack of a rank's device with the most instances, and how many these are; 0 if there is none.
func (b *builder) largest(rank int) (stack, instances int) {
	for i, s := range b.plan.Devices[b.who.device[rank]].Stacks {
		if s.Count > instances {
			stack, instances = i+1, s.Count
		}
	}
	return stack, instances
}

// alone is the time of the runs in one direction of the first n instances of the largest stack.
func (b *builder) alone(n int, down, first bool) (machine.PS, error) {
	if n == 0 {
		return 0, nil
	}
	var classes []Class
	for i, r := range b.who.ranks {
		w := b.writer(i, int(r))
		stack, _ := b.largest(int(r))
		ops := w.instances(stack, n, down)
		t, handles := w.started(ops)
		t.rest, t.posted = w.events(ops, handles, first)
		t.first = t.rest
		c := Class{Rank: int(r), Ranks: b.who.count[i], Device: int(b.who.device[r]), tasks: []task{t}, turns: []turn{{first: true, own: true}}}
		if c.total() > longest {
			return 0, fmt.Errorf("the blocks of device %d take more than %d days on this machine", r, longest/day)
		}
		classes = append(classes, c)
	}
	job := *b.Job
	job.Classes, job.groups = classes, len(b.group)
	r, err := Run(&job, How{})
	if err != nil {
		return 0, err
	}
	return r.Step, nil
}

// instances are the operations of the first n instances of a stack in one direction, as a microbatch issues them. Waits for what was
// started outside of these runs are left out.
func (w *writer) instances(stack, n int, down bool) (ops []rolled.Issue) {
	started, of := map[rolled.Issue]bool{}, make([]bool, len(w.prog.Runs))
	for r := range of {
		of[r] = w.passes(stack, r, down)
	}
	for o := range w.issues() {
		r := w.order.RunOf(o.Op)
		if r < 0 || !of[r] || w.order.Runs[r].Number(o.Instance) >= n {
			continue
		}
		c := w.prog.Instrs[o.Op].Comm
		if c != nil && c.Kind == collective.Done && !started[rolled.Issue{Op: c.Of, Instance: o.Instance}] {
			continue
		}
		started[o] = true
		ops = append(ops, o)
	}
	return ops
}

// issues yields the operations of a microbatch, one task after the other; of a program without tasks, all.
func (w *writer) issues() iter.Seq[rolled.Issue] {
	if len(w.prog.Tasks) == 0 {
		return w.order.Issues()
	}
	return func(yield func(rolled.Issue) bool) {
		for i, t := range w.prog.Tasks {
			if t.Once {
				continue
			}
			for op, k := range w.order.InTick(i) {
				if !yield(rolled.Issue{Op: op, Instance: k}) {
					return
				}
			}
		}
	}
}

// passes reports whether a run is of the forward pass through a stack, or of the backward pass. The optimizer's runs are of neither: they
// come after the backward pass.
func (w *writer) passes(stack, run int, down bool) bool {
	of := func(r *program.Run) bool { return r.Stack == stack && !once(w.prog, r.From) }
	r, first := &w.prog.Runs[run], len(w.prog.Instrs)
	for i := range w.prog.Runs {
		if x := &w.prog.Runs[i]; of(x) && x.Down {
			first = min(first, x.From)
		}
	}
	return of(r) && r.Down == down && (down || r.From < first)
}
