package ir

import (
	"iter"

	"ptc/internal/openpath"
	"ptc/internal/rolled"
)

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
// Instances of a run may overlap ([rolled.Way.Order]): an operation that is d iterations ahead runs
// for the instance that comes d iterations later, so that what a block needs is on its way
// while the one before it computes. The text keeps the order of one instance: who reads a
// value is ahead no more than who makes it.

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

// Way is the order in which the run comes to the instances.
func (r *Run) Way() rolled.Way { return rolled.Way{Count: r.Stack.Count, Down: r.Down} }

// Order yields the operations of the run, which are ops, as instances have them, each with
// the number of its instance.
func (r *Run) Order(ops []*Op) iter.Seq2[*Op, int] {
	return func(yield func(o *Op, k int) bool) {
		for i, n := range r.Way().Order(len(ops), func(i int) int { return ops[i].Ahead }) {
			if !yield(ops[i], r.Way().Number(n)) {
				return
			}
		}
	}
}

// Runs calls do for the operations of f in their order: for those of a run, all at
// once, and for every other one alone.
func (f *Func) Runs(do func(run *Run, ops []*Op)) {
	for i := 0; i < len(f.Ops); {
		j := i + 1
		for f.Ops[i].Run != nil && j < len(f.Ops) && f.Ops[j].Run == f.Ops[i].Run {
			j++
		}
		do(f.Ops[i].Run, f.Ops[i:j])
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
		if o.Name != EnterTick && o.Name != LeaveTick { // which are nothing to do
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
