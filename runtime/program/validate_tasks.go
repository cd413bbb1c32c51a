package program

import "fmt"

// validateTasks checks that the tasks of a program are all of it, one behind the other,
// and that each has its turns: one, or one for every microbatch.
func (p *Program) validateTasks() error {
	if len(p.Tasks) == 0 {
		if len(p.Turns) > 0 || p.Micro != 0 {
			return fmt.Errorf("%d turns and %d microbatches of no task", len(p.Turns), p.Micro)
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
	first := make([]int, len(p.Tasks)+1) // of each task, among all turns that there are
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
	if end != len(p.Instrs) || len(p.Turns) != all {
		return fmt.Errorf("tasks are of %d instructions of %d, in %d turns of %d", end, len(p.Instrs), len(p.Turns), all)
	}
	had := make([]bool, all)
	for i, t := range p.Turns {
		if t.Task < 0 || t.Task >= len(p.Tasks) || t.Micro < 0 || t.Micro >= first[t.Task+1]-first[t.Task] || had[first[t.Task]+t.Micro] {
			return fmt.Errorf("turn %d is of task %d for microbatch %d, which there is not or was before", i, t.Task, t.Micro)
		}
		had[first[t.Task]+t.Micro] = true
	}
	return nil
}

// validateHeads checks that what is issued first in a turn waits for all before it.
func (o *Order) validateHeads() error {
	for j := range o.prog.Tasks {
		if i := o.Head(j); i >= 0 && o.prog.Instrs[i].NoWait {
			return fmt.Errorf("instruction %d does not wait, and is the first of task %s", i, o.prog.Tasks[j].Name)
		}
	}
	return nil
}
