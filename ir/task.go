package ir

import "ptc/internal/rolled"

// What a pipeline does for each microbatch is written once, for one of them in the
// place of all. Up to the schedule, an operation says so itself ([Slot].Micro): it runs
// once for each microbatch, and reads what its own one has. Then a device's program is
// cut into tasks, each the operations of one kind of slot (forward, backward, gradients
// of weights, of a virtual stage), and the schedule is a table of turns: which task runs
// next, and for which microbatch.
//
// What all microbatches add up to is made by `accumulate` or
// `accumulate_max`, of which one microbatch is the identity. In tasks it is three
// operations: `enter_turn` is what the turn before gave to `leave_turn`, of which the
// last turn's is the result, which is there once; and between them an `add` or `max`. In
// the first turn of the task nothing enters: the sum is its other operand, and a call of
// a kernel with the sum in it is one of another kernel, [Op].First.

// A message of a microbatch may be received ahead: the operation that starts to receive it,
// whose Ahead is 1, is posted ([rolled.Program.Heads]). Its `done` is in its own turn.

// Task is a piece of the program of a device: it runs once for each microbatch, or
// once, as what comes before and after all microbatches.
type Task struct {
	Name string
	Once bool
}

// Turn is a task for one microbatch, which is 0 for a task that runs once.
type Turn struct {
	*Task
	Micro int
}

// Names of the operations between microbatches.
const (
	Accumulate    = "accumulate"     // by add
	AccumulateMax = "accumulate_max" // by max
	EnterTurn     = "enter_turn"
	LeaveTurn     = "leave_turn"
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
	case v.Def.Accumulates() != "" || v.Def.Name == LeaveTurn:
		return false
	}
	return v.Def.PerMicro()
}

// PerMicro reports whether the operation runs for each microbatch.
func (s *Slot) PerMicro() bool { return s.Micro || s.Task != nil && !s.Task.Once }

// Task is the task called name, or nil.
func (f *Func) Task(name string) *Task {
	for _, t := range f.Tasks {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// TurnAhead reports whether o runs at the head of the turn before its own.
func (o *Op) TurnAhead() bool { return o.Run == nil && o.Ahead > 0 }

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
	for _, x := range f.Turns {
		t.Turns = append(t.Turns, rolled.Turn{Task: number[x.Task], Micro: x.Micro})
	}
	for len(f.Tasks) == 0 && at < len(f.Ops) {
		micro, n := f.Ops[at].Micro, 1
		if micro {
			n = t.Micro
		}
		piece(!micro, func(o *Op) bool { return o.Micro == micro })
		for m := range n {
			t.Turns = append(t.Turns, rolled.Turn{Task: len(t.Tasks) - 1, Micro: m})
		}
	}
	return rolled.New(t)
}
