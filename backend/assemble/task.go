package assemble

import (
	"fmt"

	"ptc/internal/rolled"
	"ptc/ir"
	"ptc/runtime/program"
)

// repeats adds what is repeated: the runs and tasks of a function whose operation i has become the
// instructions from at[i] up to at[i+1], and its ticks.
func (e *entry) repeats(f *ir.Func, at []int) {
	text := f.Rolled()
	for _, r := range text.Runs {
		from, to, run := at[r.From], at[r.To], f.Ops[r.From].Run
		if from == to {
			continue
		}
		o := e.made[from]
		together := to == from+1 && e.prog.Instrs[from].Comm == nil && (o.Wait == ir.NoWait || o.Wait == ir.WaitFirst) // no instance for another one
		e.prog.Runs = append(e.prog.Runs, program.Run{Stack: e.stack(run.Stack), From: from, To: to, Down: run.Down, Together: together})
	}
	if len(f.Tasks) == 0 {
		return
	}
	e.prog.Micro = text.Micro
	for i, t := range text.Tasks {
		e.prog.Tasks = append(e.prog.Tasks, program.Task{Name: f.Tasks[i].Name, Once: t.Once, From: at[t.From], To: at[t.To]})
	}
	for _, t := range text.Ticks {
		e.prog.Ticks = append(e.prog.Ticks, program.Tick{Task: t.Task, Micro: t.Micro})
	}
}

// postedFirst are operations with those of each task that are posted before its others,
// in their order: as they are begun, and as a plan has them.
func postedFirst(ops []*ir.Op) (out []*ir.Op) {
	for i := 0; i < len(ops); {
		j := i
		for ; j < len(ops) && ops[j].Task == ops[i].Task; j++ {
			if ops[j].TickAhead() {
				out = append(out, ops[j])
			}
		}
		for ; i < j; i++ {
			if !ops[i].TickAhead() {
				out = append(out, ops[i])
			}
		}
	}
	return out
}

// first adds what o calls in the first tick of its task, where nothing enters.
func (e *entry) first(o *ir.Op, in *program.Instr) error {
	var without []int
	for j, v := range o.Args {
		if v.Def != nil && v.Def.Name == ir.EnterTick {
			without = append(without, j)
		}
	}
	switch {
	case len(without) == 0 && o.First == nil:
		return nil
	case len(without) == 0 || o.First == nil || !o.PerMicro():
		return fmt.Errorf("@%s reads %d values that enter ticks, and the kernel of the first tick is missing or not of a tick", o.Callee.Name, len(without))
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

// stays checks that a sum stays where it is from tick to tick: there is no instruction
// that could move it.
func (e *entry) stays(leave *ir.Op) error {
	place := func(v *ir.Value) (string, rolled.Place) {
		b := &e.Buffers[e.at[v]]
		return b.Memory, b.Rolled()
	}
	memory, at := place(leave.Result())
	for _, v := range leave.Args {
		if m, p := place(v); m != memory || p != at {
			return fmt.Errorf("what enters a tick as %%%d is not where the tick before left it", leave.Args[0].ID)
		}
	}
	return nil
}
