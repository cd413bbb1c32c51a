package ir

import "ptc/internal/rolled"

// The work of each microbatch is written once, for one that stands for all. Before the
// schedule, operations are marked ([Slot].Micro): such an operation runs once for each
// microbatch, and reads the values of its own one. The schedule splits a device's program
// into tasks, each the operations of one kind of slot (forward, backward, gradients
// of weights, of a virtual stage), and orders them by a table of ticks: which task runs
// next, and for which microbatch.
//
// `accumulate` and `accumulate_max` combine the values of all microbatches; with one
// microbatch they are the identity. In tasks an accumulation is three operations:
// `enter_tick` is the value that the previous tick passed to `leave_tick`, an `add` or `max`
// adds to it, and `leave_tick` of the last tick gives the result, which exists once. In
// the first tick of the task nothing enters: the sum is its other operand, and a call
// of a kernel with the sum in it calls another kernel, [Op].First.

// A message of a microbatch may be received ahead: the operation that starts to receive it,
// whose Ahead is 1, is posted ([rolled.Program.Heads]). Its `done` is in its own tick.

// Task is a piece of the program of a device: it runs once for each microbatch, or
// once, as what comes before and after all microbatches.
type Task struct {
	Name string
	Once bool
}

// Tick is a task for one microbatch, which is 0 for a task that runs once.
type Tick struct {
	*Task
	Micro int
}

// Timetable says which tasks a function has, and in which order they run.
type Timetable struct {
	Micro int     // microbatches, of a pipeline or of gradients that add up; 0 if there are none
	Tasks []*Task // the pieces of one device's program
	Ticks []Tick  // in the order in which they run
}

// Task is the task called name, or nil.
func (x *Timetable) Task(name string) *Task {
	for _, t := range x.Tasks {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// clone is a deep copy, and the copy of each task.
func (x *Timetable) clone() (c Timetable, tasks map[*Task]*Task) {
	c.Micro, tasks = x.Micro, map[*Task]*Task{}
	for _, t := range x.Tasks {
		u := *t
		tasks[t] = &u
		c.Tasks = append(c.Tasks, &u)
	}
	for _, t := range x.Ticks {
		c.Ticks = append(c.Ticks, Tick{tasks[t.Task], t.Micro})
	}
	return c, tasks
}

// Names of the operations between microbatches.
const (
	Accumulate    = "accumulate"     // by add
	AccumulateMax = "accumulate_max" // by max
	EnterTick     = "enter_tick"
	LeaveTick     = "leave_tick"
)

// Accumulates is the operation by which the operands of o are accumulated, or empty
// where o does not accumulate.
func (o *Op) Accumulates() string {
	switch o.Name {
	case Accumulate:
		return "add"
	case AccumulateMax:
		return "max"
	}
	return ""
}

// PerMicro reports whether there is such a value for each microbatch.
func (v *Value) PerMicro() bool {
	switch {
	case v.Def == nil:
		return v.Micro
	case v.Def.Accumulates() != "" || v.Def.Name == LeaveTick:
		return false
	}
	return v.Def.PerMicro()
}

// PerMicro reports whether the operation runs for each microbatch.
func (s *Slot) PerMicro() bool { return s.Micro || s.Task != nil && !s.Task.Once }

// TickAhead reports whether o runs at the head of the tick before its own.
func (o *Op) TickAhead() bool { return o.Run == nil && o.Ahead > 0 }

// Rolled is the order in which the operations of f run. Before there are tasks, those in a row that run
// for each microbatch are one, as are those in between.
func (f *Func) Rolled() *rolled.Program {
	t := rolled.Text{Ops: len(f.Ops), Ahead: func(i int) int { return f.Ops[i].Ahead }, Micro: max(1, f.Micro)}
	at := 0
	f.Runs(func(run *Run, ops []*Op) {
		if run != nil {
			t.Runs = append(t.Runs, rolled.Run{Way: run.Way(), From: at, To: at + len(ops)})
		}
		at += len(ops)
	})
	at = 0
	piece := func(once bool, is func(o *Op) bool) {
		from := at
		for at < len(f.Ops) && is(f.Ops[at]) {
			at++
		}
		t.Tasks = append(t.Tasks, rolled.Task{From: from, To: at, Once: once})
	}
	number := map[*Task]int{}
	for i, x := range f.Tasks {
		number[x] = i
		piece(x.Once, func(o *Op) bool { return o.Task == x })
	}
	for _, x := range f.Ticks {
		t.Ticks = append(t.Ticks, rolled.Tick{Task: number[x.Task], Micro: x.Micro})
	}
	for len(f.Tasks) == 0 && at < len(f.Ops) {
		micro, n := f.Ops[at].Micro, 1
		if micro {
			n = t.Micro
		}
		piece(!micro, func(o *Op) bool { return o.Micro == micro })
		for m := range n {
			t.Ticks = append(t.Ticks, rolled.Tick{Task: len(t.Tasks) - 1, Micro: m})
		}
	}
	return rolled.New(t)
}
