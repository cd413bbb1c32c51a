package program

import (
	"slices"

	"ptc/internal/openpath"
)

// once is the instance of what is there once.
const once = -1

// Place is where the buffer of instance k for microbatch m begins; of one buffer,
// whatever these are.
func (b *Buffer) Place(k, m int) int64 {
	at := b.Offset
	if b.Ring > 0 {
		at += b.Step * int64(k%b.Ring)
	}
	if b.MicroRing > 0 {
		at += b.MicroStep * int64(m%b.MicroRing)
	}
	return at
}

// Places are in how many places the buffers of instances are, and those of microbatches.
func (b *Buffer) Places() (instances, micros int) { return max(b.Ring, 1), max(b.MicroRing, 1) }

// ends are the begin of the first place of instances for microbatch 0, and the end of the
// last one; those of microbatch m are Place(0, m) - Offset bytes further on.
func (b *Buffer) ends() (lo, hi int64) {
	first, last := b.Offset, b.Offset+b.Step*int64(max(b.Ring, 1)-1)
	return min(first, last), max(first, last) + b.Bytes
}

// reach is how far the last place of microbatches is from the first.
func (b *Buffer) reach() int64 { return b.MicroStep * int64(max(b.MicroRing, 1)-1) }

// Count is how many instances a stack has, by its number; 1 for 0, of what is there
// once.
func (d *Device) Count(stack int) int {
	if stack == 0 {
		return 1
	}
	return d.Stacks[stack-1].Count
}

// RunOf is the run that instruction i is in, or nil.
func (p *Program) RunOf(i int) *Run {
	lo, hi := 0, len(p.Runs) // in order: the first that ends behind i
	for lo < hi {
		if mid := (lo + hi) / 2; p.Runs[mid].To > i {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	if lo < len(p.Runs) && p.Runs[lo].From <= i {
		return &p.Runs[lo]
	}
	return nil
}

// Instances is for how many instances instruction i of a program of d is issued.
func (d *Device) Instances(p *Program, i int) int {
	if r := p.RunOf(i); r != nil {
		return d.Count(r.Stack)
	}
	return 1
}

// Times is how often instruction i of a program of d is issued: once for each
// instance of the stack, and for each microbatch.
func (d *Device) Times(p *Program, i int) int {
	n := d.Instances(p, i)
	if p.PerMicro(i) {
		n *= p.Micro
	}
	return n
}

// number is the instance that comes as number n in the run.
func (r *Run) number(n, count int) int {
	if r.Down {
		return count - 1 - n
	}
	return n
}

// Launches is how many launches instruction i of a program of d is if it is issued so
// often in all: none where it belongs to that of the one before it, and one for all
// instances of a run of which these are one.
func (d *Device) Launches(p *Program, i, times int) int {
	if p.Instrs[i].With {
		return 0
	}
	if r := p.RunOf(i); r != nil && r.Together {
		times /= d.Count(r.Stack)
	}
	return times
}

// with reports whether instruction i is launched for instance k together with the one
// before it.
func (d *Device) with(p *Program, i, k int) bool {
	if k == once {
		return false
	}
	r := p.RunOf(i)
	return r.Together && k != r.number(0, d.Count(r.Stack))
}

// turns are the first and the last turn of the run in which anything is issued.
func (p *Program) turns(r *Run, count int) (first, last int) {
	least, most := p.aheads(r)
	return -most, count - 1 - least
}

// aheads are the least and the most that instructions of the run are ahead.
func (p *Program) aheads(r *Run) (least, most int) {
	for i := r.From; i < r.To; i++ {
		if a := p.Instrs[i].Ahead; i == r.From {
			least, most = a, a
		} else {
			least, most = min(least, a), max(most, a)
		}
	}
	return least, most
}

// turn calls visit for the instructions that are issued in a turn of a run, each
// with its instance.
func (p *Program) turn(r *Run, count, turn int, visit func(i, k int) error) error {
	for i := r.From; i < r.To; i++ {
		if n := turn + p.Instrs[i].Ahead; n >= 0 && n < count {
			if err := visit(i, r.number(n, count)); err != nil {
				return err
			}
		}
	}
	return nil
}

// walk calls visit for the instructions of a task in the order in which they are
// issued in a turn, with their instances; run goes through the turns of a run, each of
// which it gives to turn.
func (d *Device) walk(p *Program, t *Task, visit func(i, k int) error, run func(r *Run) error) error {
	i := t.From
	outside := func(to int) error {
		for ; i < to; i++ {
			if err := visit(i, once); err != nil {
				return err
			}
		}
		return nil
	}
	j, _ := slices.BinarySearchFunc(p.Runs, t.From, func(r Run, from int) int { return r.From - from })
	for ; j < len(p.Runs) && p.Runs[j].From < t.To; j++ {
		r := &p.Runs[j]
		if err := outside(r.From); err != nil {
			return err
		}
		if err := run(r); err != nil {
			return err
		}
		i = r.To
	}
	return outside(t.To)
}

// all goes through every turn of a run.
func (d *Device) all(p *Program, r *Run, visit func(i, k int) error) error {
	count := d.Count(r.Stack)
	first, last := p.turns(r, count)
	for t := first; t <= last; t++ {
		if err := p.turn(r, count, t, visit); err != nil {
			return err
		}
	}
	return nil
}

// of is a path or scope of instance k; of what is there once, the path itself.
func of(path string, k int) string {
	if k == once {
		return path
	}
	return openpath.Of(path, k)
}
