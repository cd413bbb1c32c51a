package program

import (
	"cmp"
	"fmt"
	"slices"
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

// validateRuns checks that the runs of a program are apart from one another, and how
// far instructions are ahead in them.
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
		if t := prog.TaskOf(r.From); t != nil && r.To > t.To {
			return fmt.Errorf("run %d goes on to instruction %d, and its task %s to %d", j, r.To, t.Name, t.To)
		}
		if r.Together && (r.To != r.From+1 || prog.Instrs[r.From].Comm != nil) {
			return fmt.Errorf("run %d is one launch, and is of the instructions from %d to %d", j, r.From, r.To)
		}
		end = r.To
	}
	for i := range prog.Instrs {
		in, r := &prog.Instrs[i], prog.RunOf(i)
		switch a := in.Ahead; {
		case a == 0:
		case r != nil && (a < -maxAhead || a > maxAhead), r == nil && !in.posted():
			return fmt.Errorf("instruction %d is %d turns ahead", i, a)
		case r != nil:
		case !prog.PerMicro(i):
			return fmt.Errorf("instruction %d receives ahead of a turn that is of no microbatch", i)
		case i > prog.TaskOf(i).From && (!prog.Instrs[i-1].posted() || prog.RunOf(i-1) != nil):
			return fmt.Errorf("instruction %d receives ahead of its turn, and is not among the first of task %s", i, prog.TaskOf(i).Name)
		}
	}
	return nil
}

// joins reports whether instruction i can be launched with the one before it.
func (p *Program) joins(i int) bool {
	if i == 0 || p.RunOf(i) != nil || p.RunOf(i-1) != nil || p.TaskOf(i) != p.TaskOf(i-1) {
		return false
	}
	in, before := &p.Instrs[i], &p.Instrs[i-1]
	return in.NoWait && in.Comm == nil && before.Comm == nil && in.First == nil && before.First == nil && in.Kernel == before.Kernel
}

// validateOf checks that a done waits for an instruction of the program that there is
// for the same instance.
func (d *Device) validateOf(prog *Program, in *Instr, stack int) error {
	if in.Comm.Kind != Done {
		return nil
	}
	if in.Comm.Of >= len(prog.Instrs) || prog.Instrs[in.Comm.Of].Comm == nil || !prog.Instrs[in.Comm.Of].Comm.Start {
		return fmt.Errorf("done of instruction %d, which is not under way", in.Comm.Of)
	}
	of := 0
	if r := prog.RunOf(in.Comm.Of); r != nil {
		of = r.Stack
	}
	if of != stack {
		return fmt.Errorf("done of instruction %d, of other instances", in.Comm.Of)
	}
	return nil
}

// hull is all bytes that a buffer has, with what tells how they move from instance to
// instance: where each has a place of its own, by a step; else they are in a place
// again and again, and step is 0.
type hull struct {
	span
	step int64
	ring int // of microbatches: those of which step is the distance
}

// hull is that of a buffer's instances for microbatch m; or with [once] that of all, of
// which no step is known where microbatches have places of their own.
func (d *Device) hull(b *Buffer, m int) hull {
	lo, hi := b.ends()
	h := hull{span: span{b.Memory, lo, hi}}
	if m == once {
		h.hi += b.reach()
	} else if b.MicroRing > 0 {
		at := b.MicroStep * int64(m%b.MicroRing)
		h.lo, h.hi = lo+at, hi+at
	}
	if b.Ring > 0 && b.Ring == d.Count(b.Stack) && (m != once || b.MicroRing == 0) {
		h.step = b.Step
	}
	return h
}

// clusters calls do for each group of hulls that meet one another, in a chain; list
// is put in their order.
func clusters(list []hull, do func(group []hull) bool) bool {
	slices.SortFunc(list, func(a, b hull) int {
		return cmp.Or(cmp.Compare(a.memory, b.memory), cmp.Compare(a.lo, b.lo), cmp.Compare(a.hi, b.hi))
	})
	for i := 0; i < len(list); {
		end, j := list[i].hi, i+1
		for j < len(list) && list[j].memory == list[i].memory && list[j].lo < end {
			end = max(end, list[j].hi)
			j++
		}
		if !do(list[i:j]) {
			return false
		}
		i = j
	}
	return true
}

// alike says whether all of a group move from instance to instance in one way: then
// whether those of two instances meet depends on how far these are apart, or on their
// numbers in a ring, and not on where in the run they are.
func alike(group []hull) bool {
	for _, h := range group[1:] {
		if h.step != group[0].step || h.ring != group[0].ring {
			return false
		}
	}
	return true
}
