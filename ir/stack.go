package ir

import "ptc/internal/openpath"

// A part of a program that is there many times is written once. What is repeated
// is a [Stack]: blocks of a model that are alike. Where its instances do a part of
// their work, one after the other, is a [Run]: forward, backward, update. The
// operations of a run stand in a row, for one instance in the place of all.
//
// A value of a run is one of each instance; a later run of the stack reads its own
// instance's. An argument or result of the function that is one of each instance
// has a path with the number left open, `blocks.{i}.mlp.w1`.
//
// What goes from instance to instance is a pair: `enter x` at the head of the run is
// x for the first instance, and for every other one what the instance before gave
// to `leave`, at the end of it; of the last instance that is the result of `leave`,
// which is outside. So of one instance both are the identity, and whoever takes them
// for that is right about the program with one block, in its types, states,
// gradients and kernels.
//
// Instances of a run may overlap: an operation that is d turns ahead runs for the
// instance that comes d turns later, so that what a block needs is on its way while
// the one before it computes. Turn t is the operations in their order, each for
// instance t + d of the run, where there is one; turns go on until all instances have
// had all operations. The text keeps the order of one instance: who reads a value is
// ahead no more than who makes it.

// Stack is a repeated part: Count instances, numbered from 0.
type Stack struct {
	Name  string
	Count int
}

// Run is a way through the instances of a stack.
type Run struct {
	Stack *Stack
	Down  bool // from the last instance to the first
}

// Numbers are those of the instances in the order of the run.
func (r *Run) Numbers() []int {
	out := make([]int, r.Stack.Count)
	for k := range out {
		if out[k] = k; r.Down {
			out[k] = r.Stack.Count - 1 - k
		}
	}
	return out
}

// Turns calls do for the operations of a run, which are ops, in the order in which the
// instances have them: for the n-th one of the run, which is number k of the stack.
func (r *Run) Turns(ops []*Op, do func(o *Op, n, k int)) {
	first, last := 0, r.Stack.Count-1
	for _, o := range ops {
		first, last = min(first, -o.Ahead), max(last, r.Stack.Count-1-o.Ahead)
	}
	numbers := r.Numbers()
	for turn := first; turn <= last; turn++ {
		for _, o := range ops {
			if n := turn + o.Ahead; 0 <= n && n < len(numbers) {
				do(o, n, numbers[n])
			}
		}
	}
}

// Runs calls do for the operations of f in their order: for those of a run, all at
// once, and for every other one alone.
func (f *Func) Runs(do func(run *Run, ops []*Op)) { runs(f.Ops, do) }

func runs(ops []*Op, do func(run *Run, ops []*Op)) {
	for i := 0; i < len(ops); {
		j := i + 1
		for ops[i].Run != nil && j < len(ops) && ops[j].Run == ops[i].Run {
			j++
		}
		do(ops[i].Run, ops[i:j])
		i = j
	}
}

// Names of the operations at the ends of a run.
const (
	Enter = "enter"
	Leave = "leave"
)

// In is the stack of which every instance has such a value, or nil where there is one.
func (v *Value) In() *Stack {
	switch {
	case v.Def == nil || v.Def.Run == nil:
		return v.Each
	case v.Def.Name == Leave:
		return nil
	}
	return v.Def.Run.Stack
}

// Times is how often o runs in a row: once for each instance.
func (o *Op) Times() int64 {
	if o.Run == nil {
		return 1
	}
	return int64(o.Run.Stack.Count)
}

// Times is how many operations f has with those of runs for each instance, and those
// of pipelines for each microbatch.
func (f *Func) Times() (n int64) {
	for _, o := range f.Ops {
		if o.Name != EnterTurn && o.Name != LeaveTurn { // which are nothing to do
			n += f.TimesOf(o)
		}
	}
	return n
}

// TimesOf is how often o runs in a step: for each instance and each microbatch.
func (f *Func) TimesOf(o *Op) int64 {
	if o.PerMicro() {
		return o.Times() * int64(f.Micro)
	}
	return o.Times()
}

// Count is how many such values there are: one of each instance.
func (v *Value) Count() int {
	if s := v.In(); s != nil {
		return s.Count
	}
	return 1
}

// Ends are the numbers of the first instance of the run and of the last one.
func (r *Run) Ends() (first, last int) {
	if first, last = 0, r.Stack.Count-1; r.Down {
		first, last = last, first
	}
	return first, last
}

// Stack is the stack called name, or nil.
func (f *Func) Stack(name string) *Stack {
	for _, s := range f.Stacks {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// OfInstance is the path or scope of instance i, from one in which the number of its
// module is open: `{i}`; `{i+3}` of a stack of modules from number 3 on; `{2i+1}` where
// an instance is of two modules.
func OfInstance(pattern string, i int) string { return openpath.Of(pattern, i) }

// OpenNumber is what stands for the number times·i + plus of instance i.
func OpenNumber(times, plus int) string { return openpath.Open(times, plus) }

// JoinRuns moves operations of a run that stand apart from it into it, where the
// first of its operations is that is neither `enter` nor `leave`: `enter` to the
// head, `leave` to the end, the others in between, in their order. Whoever emits
// operations for instances behind their run calls it.
func (f *Func) JoinRuns() {
	parts, at := map[*Run][3][]*Op{}, map[*Run]*Op{}
	for _, o := range f.Ops {
		if o.Run == nil {
			continue
		}
		p, part := parts[o.Run], 1
		switch o.Name {
		case Enter:
			part = 0
		case Leave:
			part = 2
		}
		if first := at[o.Run]; first == nil || part == 1 && len(p[1]) == 0 {
			at[o.Run] = o
		}
		p[part] = append(p[part], o)
		parts[o.Run] = p
	}
	ops := make([]*Op, 0, len(f.Ops))
	for _, o := range f.Ops {
		if o.Run == nil {
			ops = append(ops, o)
		} else if at[o.Run] == o {
			for _, part := range parts[o.Run] {
				ops = append(ops, part...)
			}
		}
	}
	f.Ops = ops
}
