package overlap

import (
	"ptc/ir"
	"ptc/ir/op"
)

// receiveAhead has the messages of tasks of microbatches be received from the tick before
// on, see [ir.Op.TickAhead]: a stage then finds there what the one next to it sends while it
// still computes another microbatch. What a task reads in a run is there before the run.
func receiveAhead(f *ir.Func) {
	first := readers(f.Ops)
	begins, ends := bounds(f)
	head, dones := map[*ir.Task][]*ir.Op{}, map[int][]*ir.Op{}
	with := map[*ir.Value]*ir.Value{}
	for _, x := range f.Ops {
		t := x.Task
		if !op.Has(x, op.Receives) || x.Run != nil || t == nil || t.Once || len(head[t]) == MaxOpen/2 {
			continue
		}
		to := ends[t]
		if at := first(x.Result()); at < to {
			to = begins[at]
		}
		x.Start, x.Ahead = true, 1
		head[t] = append(head[t], x)
		dones[to] = append(dones[to], doneOf(f, x, with))
	}
	f.Replace(with) // before the dones, which alone read what is under way, are there
	out := make([]*ir.Op, 0, len(f.Ops)+len(with))
	var task *ir.Task
	for i := 0; i <= len(f.Ops); i++ {
		out = append(out, dones[i]...)
		if i == len(f.Ops) {
			break
		}
		x := f.Ops[i]
		if x.Task != task {
			task = x.Task
			out = append(out, head[task]...)
		}
		if !x.TickAhead() {
			out = append(out, x)
		}
	}
	f.Ops = out
}

// bounds gives, for each operation of f, the place where its run begins, or its own; and
// the place behind each task.
func bounds(f *ir.Func) (begins []int, ends map[*ir.Task]int) {
	ends = map[*ir.Task]int{}
	f.Runs(func(_ *ir.Run, ops []*ir.Op) {
		at := len(begins)
		for range ops {
			begins = append(begins, at)
		}
		ends[ops[0].Task] = len(begins)
	})
	return begins, ends
}
