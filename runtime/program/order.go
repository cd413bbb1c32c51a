package program

import (
	"ptc/internal/openpath"
	"ptc/internal/ranges"
	"ptc/internal/rolled"
)

// once is the instance of what is there once.
const once = rolled.Once

// Rolled is where the instances of the buffer begin.
func (b *Buffer) Rolled() rolled.Place { return rolled.Place{At: b.Offset, Spread: b.Spread()} }

// Spread says how the instances of the buffer lie, of a stack and of microbatches.
func (b *Buffer) Spread() rolled.Spread {
	return rolled.Spread{Step: b.Step, Ring: b.Ring, MicroStep: b.MicroStep, MicroRing: b.MicroRing}
}

// Place is where the buffer of instance k for microbatch m begins; of one buffer,
// whatever these are.
func (b *Buffer) Place(k, m int) int64 { return b.Rolled().Of(k, m) }

// Places are in how many places the buffers of instances are, and those of microbatches.
func (b *Buffer) Places() (instances, micros int) { return max(b.Ring, 1), max(b.MicroRing, 1) }

// ends are the begin of the first place of instances for microbatch 0, and the end of the
// last one; those of microbatch m are Place(0, m) - Offset bytes further on.
func (b *Buffer) ends() (lo, hi int64) { return b.Rolled().Ends(b.Bytes, b.Ring) }

// all is all bytes in which the buffer has places, and those between.
func (b *Buffer) all() ranges.Span {
	lo, hi := b.ends()
	return ranges.Span{Lo: lo, Hi: hi + b.Spread().Width()}
}

// Order is a program of a device with the order in which its instructions are issued.
type Order struct {
	*rolled.Program
	prog *Program
}

// Order is that of a program of d, whose runs and tasks are valid.
func (d *Device) Order(p *Program) *Order {
	t := rolled.Text{Ops: len(p.Instrs), Ahead: func(i int) int { return p.Instrs[i].Ahead }, Micro: p.Micro}
	for _, r := range p.Runs {
		t.Runs = append(t.Runs, rolled.Run{Way: rolled.Way{Count: d.Count(r.Stack), Down: r.Down}, From: r.From, To: r.To})
	}
	for _, x := range p.Tasks {
		t.Tasks = append(t.Tasks, rolled.Task{From: x.From, To: x.To, Once: x.Once})
	}
	for _, x := range p.Ticks {
		t.Ticks = append(t.Ticks, rolled.Tick{Task: x.Task, Micro: x.Micro})
	}
	return &Order{rolled.New(t), p}
}

// stack is the number of the stack for whose instances instruction i is issued, or 0.
func (o *Order) stack(i int) int {
	if r := o.RunOf(i); r >= 0 {
		return o.prog.Runs[r].Stack
	}
	return 0
}

// Launches is how many launches instruction i is if it is issued so often in all: none
// where it belongs to that of the one before it, and one for all instances of a run of
// which these are one.
func (o *Order) Launches(i, times int) int {
	if o.prog.Instrs[i].With {
		return 0
	}
	if r := o.RunOf(i); r >= 0 && o.prog.Runs[r].Together {
		times /= o.Runs[r].Count
	}
	return times
}

// with reports whether instruction i is launched for instance k together with the one
// before it.
func (o *Order) with(i, k int) bool {
	if k == once {
		return false
	}
	r := o.RunOf(i)
	return o.prog.Runs[r].Together && k != o.Runs[r].Number(0)
}

// where is what an instruction is issued for: every instance of a stack, 0 of none, and
// every one of so many microbatches, 0 if it is issued once.
type where struct{ stack, micros int }

func (o *Order) where(i int) where {
	w := where{stack: o.stack(i)}
	if o.PerMicro(i) {
		w.micros = o.Micro
	}
	return w
}

// of is a path or scope of instance k; of what is there once, the path itself.
func of(path string, k int) string {
	if k == once {
		return path
	}
	return openpath.Of(path, k)
}
