package overlap

import (
	"slices"

	"ptc/ir"
)

// text is operations in a row that are ordered together: those of a run, for one
// instance in the place of all; or those of a task outside of runs, for one microbatch in
// the place of all, among which every run stands as one operation. A function without
// tasks is like one task.
type text struct {
	task *ir.Task // nil in a function without tasks
	run  *ir.Run  // nil outside
	ops  []*ir.Op // but `enter_tick` and `leave_tick`
	// ticks are these, which are nothing to do: they follow what reads what enters a
	// tick, and what makes what leaves it.
	ticks []*ir.Op
	// runs are the texts of runs, by the operations that stand for them: these read
	// what the run reads from outside, and make what others read of it.
	runs map[*ir.Op]*text
}

// textsOf are the operations of f outside of runs, those of each task by themselves, and
// with them those of each run.
func textsOf(f *ir.Func) (out []*text) {
	var t *text
	f.Runs(func(run *ir.Run, ops []*ir.Op) {
		if task := ops[0].Task; t == nil || t.task != task {
			t = &text{task: task, runs: map[*ir.Op]*text{}}
			out = append(out, t)
		}
		if run == nil {
			t.add(ops[0])
			return
		}
		in := &text{task: t.task, run: run}
		for _, o := range ops {
			in.add(o)
		}
		o := in.whole()
		t.ops, t.runs[o] = append(t.ops, o), in
	})
	return out
}

func (t *text) add(o *ir.Op) {
	if o.Name == ir.EnterTick || o.Name == ir.LeaveTick {
		t.ticks = append(t.ticks, o)
	} else {
		t.ops = append(t.ops, o)
	}
}

// whole is an operation that stands for a run.
func (t *text) whole() *ir.Op {
	o := &ir.Op{Name: ir.Leave, Slot: ir.Slot{Run: t.run}}
	made := map[*ir.Value]bool{}
	for _, x := range t.ops {
		for _, a := range x.Args {
			if !made[a] {
				o.Args = append(o.Args, a)
			}
		}
		for _, r := range x.Results {
			made[r] = true
		}
		o.Results = append(o.Results, x.Results...)
	}
	return o
}

// all are the texts of a task: that outside of runs, and those of its runs in order.
func (t *text) all() []*text {
	out := []*text{t}
	for _, o := range t.ops {
		if in := t.runs[o]; in != nil {
			out = append(out, in)
		}
	}
	return out
}

// write gives f the operations in the order of the texts of its tasks.
func write(f *ir.Func, texts []*text) {
	ops := make([]*ir.Op, 0, len(f.Ops))
	for _, t := range texts {
		for _, o := range t.complete() {
			if in := t.runs[o]; in != nil {
				ops = append(ops, in.complete()...)
			} else {
				ops = append(ops, o)
			}
		}
	}
	f.Ops = ops
}

// complete is the operations of the text with what enters a tick before its first
// reader, and what leaves it behind the operation that makes it.
func (t *text) complete() []*ir.Op {
	if len(t.ticks) == 0 {
		return t.ops
	}
	enter, leave := map[*ir.Value]*ir.Op{}, map[*ir.Value][]*ir.Op{}
	for _, o := range t.ticks {
		if o.Name == ir.EnterTick {
			enter[o.Result()] = o
		} else {
			leave[o.Args[1]] = append(leave[o.Args[1]], o)
		}
	}
	out := make([]*ir.Op, 0, len(t.ops)+len(t.ticks))
	put := func(o *ir.Op) {
		for _, a := range o.Args {
			if e := enter[a]; e != nil {
				out = append(out, e)
				delete(enter, a)
			}
		}
		out = append(out, o)
	}
	_, to := t.body()
	for i, x := range t.ops {
		if i == to {
			t.rest(put, enter, leave)
		}
		put(x)
		for _, r := range x.Results {
			for _, o := range leave[r] {
				put(o)
			}
			delete(leave, r)
		}
	}
	if to == len(t.ops) {
		t.rest(put, enter, leave)
	}
	return out
}

// rest puts what nobody here reads or makes at the end of the text.
func (t *text) rest(put func(*ir.Op), enter map[*ir.Value]*ir.Op, leave map[*ir.Value][]*ir.Op) {
	for _, o := range t.ticks {
		switch {
		case o.Name == ir.EnterTick && enter[o.Result()] == o:
			put(o)
			delete(enter, o.Result())
		case o.Name == ir.LeaveTick && slices.Contains(leave[o.Args[1]], o):
			put(o)
		}
	}
}

// made is the place of the operation that makes a value of the text.
func (t *text) made() map[*ir.Value]int {
	at := make(map[*ir.Value]int, len(t.ops))
	for i, o := range t.ops {
		for _, r := range o.Results {
			at[r] = i
		}
	}
	return at
}

// body are the places of the first operation behind `enter` and of the first
// `leave`; without a run, those of the text.
func (t *text) body() (from, to int) {
	if t.run == nil {
		return 0, len(t.ops)
	}
	for from < len(t.ops) && t.ops[from].Name == ir.Enter {
		from++
	}
	for to = len(t.ops); to > from && t.ops[to-1].Name == ir.Leave; {
		to--
	}
	return from, to
}
