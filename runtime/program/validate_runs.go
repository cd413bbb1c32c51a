package program

import (
	"fmt"

	"ptc/internal/rolled"
)

// maxInstances bounds the instances of a stack.
const maxInstances = 1 << 20

// maxAhead bounds the turns by which an instruction is ahead of others or behind them.
// They may be more than the stack has instances: then the instruction is issued for all
// of them before, or behind, all others.
const maxAhead = 1 << 10

func (s *Stack) validate() error {
	if err := name(s.Name); err != nil {
		return unlessLimit(err, "a stack without a name")
	}
	if s.Count < 1 {
		return fmt.Errorf("stack %s of %d instances", s.Name, s.Count)
	}
	return within(CountLimit, "%d instances of "+s.Name, int64(s.Count), maxInstances)
}

// validateFamily checks where the instances of a buffer are, and those of microbatches,
// of which the first is known to be in the arena.
func (d *Device) validateFamily(b *Buffer, arena int64) error {
	if b.Stack < 0 || b.Stack > len(d.Stacks) {
		return fmt.Errorf("it is of stack %d of %d", b.Stack, len(d.Stacks))
	}
	if b.Ring != 0 || b.Step != 0 {
		if err := d.validateRing(b, arena); err != nil {
			return err
		}
	}
	if b.MicroRing == 0 && b.MicroStep == 0 {
		return nil
	}
	_, hi := b.ends()
	switch {
	case b.MicroRing < 2 || b.MicroRing > maxMicro:
		return fmt.Errorf("microbatches have %d places", b.MicroRing)
	case b.MicroStep <= 0 || b.MicroStep%Align != 0 || b.MicroStep < b.Bytes:
		return fmt.Errorf("%d bytes of each microbatch, %d apart", b.Bytes, b.MicroStep)
	case b.MicroStep > (arena-hi)/int64(b.MicroRing-1):
		return fmt.Errorf("%d places from %d on, %d bytes apart, are not in the arena of %d", b.MicroRing, b.Offset, b.MicroStep, arena)
	}
	return nil
}

// validateRing checks where the instances of a buffer are for microbatch 0.
func (d *Device) validateRing(b *Buffer, arena int64) error {
	switch {
	case b.Stack == 0 || b.Ring < 2 || b.Ring > d.Count(b.Stack):
		return fmt.Errorf("%d instances have %d places", d.Count(b.Stack), b.Ring)
	case b.Step == 0 || b.Step%Align != 0 || -b.Bytes < b.Step && b.Step < b.Bytes:
		return fmt.Errorf("%d bytes of each instance, %d apart", b.Bytes, b.Step)
	case b.Step > (arena-b.Offset-b.Bytes)/int64(b.Ring-1) || b.Step < -(b.Offset/int64(b.Ring-1)):
		return fmt.Errorf("%d places from %d on, %d bytes apart, are not in the arena of %d", b.Ring, b.Offset, b.Step, arena)
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
			return fmt.Errorf("instruction %d is %d turns ahead", i, a)
		case inRun:
		case !o.PerMicro(i):
			return fmt.Errorf("instruction %d receives ahead of a turn that is of no microbatch", i)
		case i > o.Tasks[o.TaskOf(i)].From && (!instrs[i-1].posted() || o.RunOf(i-1) >= 0):
			return fmt.Errorf("instruction %d receives ahead of its turn, and is not among the first of task %s", i, o.prog.Tasks[o.TaskOf(i)].Name)
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
	if in.Comm.Kind != Done {
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

// hull is where the instances of a buffer are for microbatch m; or with [once] for all
// microbatches. Where each instance has a place of its own, it says by which step they
// move, but of no step where microbatches have places of their own and all are asked for.
func (d *Device) hull(b *Buffer, m int) rolled.Hull[string] {
	all := b.all()
	h := rolled.Hull[string]{Memory: b.Memory, Lo: all.Lo, Hi: all.Hi}
	if m != once {
		by := b.Spread().Of(0, m)
		h.Lo, h.Hi = h.Lo+by, h.Hi-b.Spread().Width()+by
	}
	if b.Ring > 0 && b.Ring == d.Count(b.Stack) && (m != once || b.MicroRing == 0) {
		h.Moves.Step = b.Step
	}
	return h
}
