package overlap

import (
	"slices"

	"ptc/ir"
)

// text is operations in a row that are ordered together: those of a run, for one
// instance in the place of all; or those outside of runs, among which every run
// stands as one operation.
type text struct {
	f   *ir.Func
	run *ir.Run // nil outside
	ops []*ir.Op
	// runs are the texts of runs, by the operations that stand for them: these read
	// what the run reads from outside, and make what others read of it.
	runs map[*ir.Op]*text
}

// textOf is the operations of f outside of runs, and with them those of each run.
func textOf(f *ir.Func) *text {
	t := &text{f: f, runs: map[*ir.Op]*text{}}
	for i := 0; i < len(f.Ops); {
		j := i + 1
		run := f.Ops[i].Run
		for run != nil && j < len(f.Ops) && f.Ops[j].Run == run {
			j++
		}
		if run == nil {
			t.ops = append(t.ops, f.Ops[i])
		} else {
			in := &text{f: f, run: run, ops: slices.Clone(f.Ops[i:j])}
			o := in.whole()
			t.ops, t.runs[o] = append(t.ops, o), in
		}
		i = j
	}
	return t
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

// all are the texts of the function: that outside of runs, and those of its runs
// in order.
func (t *text) all() []*text {
	out := []*text{t}
	for _, o := range t.ops {
		if in := t.runs[o]; in != nil {
			out = append(out, in)
		}
	}
	return out
}

// write gives the function the operations in the order of the text.
func (t *text) write() {
	ops := make([]*ir.Op, 0, len(t.f.Ops))
	for _, o := range t.ops {
		if in := t.runs[o]; in != nil {
			ops = append(ops, in.ops...)
		} else {
			ops = append(ops, o)
		}
	}
	t.f.Ops = ops
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
