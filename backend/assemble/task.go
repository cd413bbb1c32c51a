package assemble

import (
	"fmt"

	"ptc/ir"
	"ptc/runtime/program"
)

// turns adds the tasks of the function, as yet without instructions, and their turns.
func (e *entry) turns() {
	if len(e.f.Tasks) == 0 {
		return
	}
	e.prog.Micro = max(1, e.f.Micro)
	for i, t := range e.f.Tasks {
		e.task[t] = i
		e.prog.Tasks = append(e.prog.Tasks, program.Task{Name: t.Name, Once: t.Once})
	}
	for i, t := range e.f.Turns {
		e.turn[t.Task] = i
		e.prog.Turns = append(e.prog.Turns, program.Turn{Task: e.task[t.Task], Micro: t.Micro})
	}
}

// postedFirst are operations with those of each task that are posted before its others,
// in their order: as they are begun, and as a plan has them.
func postedFirst(ops []*ir.Op) (out []*ir.Op) {
	posted := func(o *ir.Op) bool { return o.Run == nil && o.Ahead > 0 }
	for i := 0; i < len(ops); {
		j := i
		for ; j < len(ops) && ops[j].Task == ops[i].Task; j++ {
			if posted(ops[j]) {
				out = append(out, ops[j])
			}
		}
		for ; i < j; i++ {
			if !posted(ops[i]) {
				out = append(out, ops[i])
			}
		}
	}
	return out
}

// cut has each task begin where the one before ends, those without instructions too.
func (e *entry) cut() {
	end := 0
	for i := range e.prog.Tasks {
		t := &e.prog.Tasks[i]
		t.From, t.To = end, max(t.To, end)
		end = t.To
	}
}

// first adds what o calls in the first turn of its task, where nothing enters.
func (e *entry) first(o *ir.Op, in *program.Instr) error {
	var without []int
	for j, v := range o.Args {
		if v.Def != nil && v.Def.Name == ir.EnterTurn {
			without = append(without, j)
		}
	}
	switch {
	case len(without) == 0 && o.First == nil:
		return nil
	case len(without) == 0 || o.First == nil || !o.PerMicro():
		return fmt.Errorf("@%s reads %d values that enter turns, and the kernel of the first turn is missing or not of a turn", o.Callee.Name, len(without))
	}
	in.First = &program.First{Kernel: e.kernels[o.First], Without: without}
	return nil
}

// space is what the place of a sum over microbatches is for.
func (e *entry) space(v *ir.Value) program.Space {
	if e.grads[v] {
		return program.Grads
	}
	return program.Activations
}

// stays checks that a sum stays where it is from turn to turn: there is no instruction
// that could move it.
func (e *entry) stays(leave *ir.Op) error {
	place := func(v *ir.Value) program.Buffer {
		b := e.Buffers[e.at[v]]
		return program.Buffer{Memory: b.Memory, Offset: b.Offset, Step: b.Step, Ring: b.Ring, MicroStep: b.MicroStep, MicroRing: b.MicroRing}
	}
	at := fmt.Sprint(place(leave.Result()))
	if fmt.Sprint(place(leave.Args[0])) != at || fmt.Sprint(place(leave.Args[1])) != at {
		return fmt.Errorf("what enters a turn as %%%d is not where the turn before left it", leave.Args[0].ID)
	}
	return nil
}
