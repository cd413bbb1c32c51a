package ir

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
// Ahead is 1, runs at the head of the turn before its own, so that the message is on its
// way, or there, when its turn begins. Its `done` is in its own turn. Where there is no
// turn before, or one of a task that runs once, it runs at the head of its own.

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

// Timetable says which tasks a function has, and in which order they run.
type Timetable struct {
	Micro int     // microbatches, of a pipeline or of gradients that add up; 0 if there are none
	Tasks []*Task // the pieces of one device's program
	Turns []Turn  // in the order in which they run
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
	for _, t := range x.Turns {
		c.Turns = append(c.Turns, Turn{tasks[t.Task], t.Micro})
	}
	return c, tasks
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

// TurnAhead reports whether o runs at the head of the turn before its own.
func (o *Op) TurnAhead() bool { return o.Run == nil && o.Ahead > 0 }

// InTurns calls do for the operations of the tasks of f in the order in which they run:
// for those of a turn, and before them for those of the next one that are ahead.
func (f *Func) InTurns(do func(t Turn, ops []*Op)) {
	ahead, tasks := map[*Task][]*Op{}, map[*Task][]*Op{}
	for _, o := range f.Ops {
		if o.TurnAhead() {
			ahead[o.Task] = append(ahead[o.Task], o)
		} else {
			tasks[o.Task] = append(tasks[o.Task], o)
		}
	}
	for i, t := range f.Turns {
		if i == 0 || f.Turns[i-1].Once {
			do(t, ahead[t.Task])
		}
		if i+1 < len(f.Turns) && !t.Once {
			do(f.Turns[i+1], ahead[f.Turns[i+1].Task])
		}
		do(t, tasks[t.Task])
	}
}
