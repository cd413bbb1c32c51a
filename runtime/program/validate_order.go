package program

import (
	"fmt"

	"ptc/internal/collective"
)

// validateTasks checks that the tasks of a program are all of it, one behind the other,
// and that each has its ticks: one, or one for every microbatch.
func (p *Program) validateTasks() error {
	if len(p.Tasks) == 0 {
		if len(p.Ticks) > 0 || p.Micro != 0 {
			return fmt.Errorf("%d ticks and %d microbatches of no task", len(p.Ticks), p.Micro)
		}
		return nil
	}
	if p.Micro < 1 {
		return fmt.Errorf("tasks for %d microbatches", p.Micro)
	}
	if err := within(CountLimit, "%d microbatches", int64(p.Micro), maxMicro); err != nil {
		return err
	}
	end := 0
	first := make([]int, len(p.Tasks)+1) // of each task, among all ticks that there are
	for j := range p.Tasks {
		t := &p.Tasks[j]
		if err := name(t.Name); err != nil {
			return unlessLimit(err, "a task without a name")
		}
		if t.From != end || t.To < t.From || t.To > len(p.Instrs) {
			return fmt.Errorf("task %s is of the instructions from %d to %d, of %d, behind %d", t.Name, t.From, t.To, len(p.Instrs), end)
		}
		n := p.Micro
		if t.Once {
			n = 1
		}
		end, first[j+1] = t.To, first[j]+n
	}
	all := first[len(p.Tasks)]
	if end != len(p.Instrs) || len(p.Ticks) != all {
		return fmt.Errorf("tasks are of %d instructions of %d, in %d ticks of %d", end, len(p.Instrs), len(p.Ticks), all)
	}
	had := make([]bool, all)
	for i, t := range p.Ticks {
		if t.Task < 0 || t.Task >= len(p.Tasks) || t.Micro < 0 || t.Micro >= first[t.Task+1]-first[t.Task] || had[first[t.Task]+t.Micro] {
			return fmt.Errorf("tick %d is of task %d for microbatch %d, which there is not or was before", i, t.Task, t.Micro)
		}
		had[first[t.Task]+t.Micro] = true
	}
	return nil
}

// validateHeads checks that what is issued first in a tick waits for all before it.
func (o *Order) validateHeads() error {
	for j := range o.prog.Tasks {
		if i := o.Head(j); i >= 0 && o.prog.Instrs[i].NoWait {
			return fmt.Errorf("instruction %d does not wait, and is the first of task %s", i, o.prog.Tasks[j].Name)
		}
	}
	return nil
}

// validateRuns checks that the runs of a program are apart from one another.
func (d *Device) validateRuns(prog *Program) error {
	end := 0
	for j := range prog.Runs {
		r := &prog.Runs[j]
		switch {
		case r.Stack < 1 || r.Stack > len(d.Stacks):
			return fmt.Errorf("run %d is of stack %d of %d", j, r.Stack, len(d.Stacks))
		case r.From < end || r.To <= r.From || r.To > len(prog.Instrs):
			return fmt.Errorf("run %d is of the instructions from %d to %d, of %d, behind %d", j, r.From, r.To, len(prog.Instrs), end)
		}
		for _, t := range prog.Tasks {
			if t.From <= r.From && r.From < t.To && t.To < r.To {
				return fmt.Errorf("run %d goes on to instruction %d, and its task %s to %d", j, r.To, t.Name, t.To)
			}
		}
		if r.Together && (r.To != r.From+1 || prog.Instrs[r.From].Comm != nil) {
			return fmt.Errorf("run %d is one launch, and is of the instructions from %d to %d", j, r.From, r.To)
		}
		end = r.To
	}
	return nil
}

// validateAheads checks how far instructions are ahead, and that those that are posted
// stand first in their task.
func (o *Order) validateAheads() error {
	instrs := o.prog.Instrs
	for i := range instrs {
		in, inRun := &instrs[i], o.RunOf(i) >= 0
		switch a := in.Ahead; {
		case a == 0:
		case inRun && (a < -maxAhead || a > maxAhead), !inRun && !in.posted():
			return fmt.Errorf("instruction %d is %d iterations ahead", i, a)
		case inRun:
		case !o.PerMicro(i):
			return fmt.Errorf("instruction %d receives ahead of a tick that is of no microbatch", i)
		case i > o.Tasks[o.TaskOf(i)].From && (!instrs[i-1].posted() || o.RunOf(i-1) >= 0):
			return fmt.Errorf("instruction %d receives ahead of its tick, and is not among the first of task %s", i, o.prog.Tasks[o.TaskOf(i)].Name)
		}
	}
	return nil
}

// joins reports whether instruction i can be launched with the one before it.
func (o *Order) joins(i int) bool {
	if i == 0 || o.RunOf(i) >= 0 || o.RunOf(i-1) >= 0 || o.TaskOf(i) != o.TaskOf(i-1) {
		return false
	}
	in, before := &o.prog.Instrs[i], &o.prog.Instrs[i-1]
	return in.NoWait && in.Comm == nil && before.Comm == nil && in.First == nil && before.First == nil && in.Kernel == before.Kernel
}

// validateOf checks that a done waits for an instruction of the program that there is
// for the same instance.
func (o *Order) validateOf(in *Instr, stack int) error {
	if in.Comm.Kind != collective.Done {
		return nil
	}
	if in.Comm.Of >= o.Ops || o.prog.Instrs[in.Comm.Of].Comm == nil || !o.prog.Instrs[in.Comm.Of].Comm.Start {
		return fmt.Errorf("done of instruction %d, which is not under way", in.Comm.Of)
	}
	if o.stack(in.Comm.Of) != stack {
		return fmt.Errorf("done of instruction %d, of other instances", in.Comm.Of)
	}
	return nil
}
