package program

import "ptc/internal/openpath"

// once is the instance of what is there once.
const once = -1

// Place is where the buffer of instance k begins; of one buffer, whatever k.
func (b *Buffer) Place(k int) int64 {
	if b.Ring == 0 {
		return b.Offset
	}
	return b.Offset + b.Step*int64(k%b.Ring)
}

// Places is in how many places the instances' buffers are.
func (b *Buffer) Places() int { return max(b.Ring, 1) }

// ends are the begin of the first place and the end of the last one.
func (b *Buffer) ends() (lo, hi int64) {
	first, last := b.Offset, b.Offset+b.Step*int64(b.Places()-1)
	return min(first, last), max(first, last) + b.Bytes
}

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

// Times is how often instruction i of a program of d is issued: once for each
// instance of the stack.
func (d *Device) Times(p *Program, i int) int {
	if r := p.RunOf(i); r != nil {
		return d.Count(r.Stack)
	}
	return 1
}

// number is the instance that comes as number n in the run.
func (r *Run) number(n, count int) int {
	if r.Down {
		return count - 1 - n
	}
	return n
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

// walk calls visit for the instructions of a program in the order in which they are
// issued, with their instances; run goes through the turns of a run, each of which
// it gives to turn.
func (d *Device) walk(p *Program, visit func(i, k int) error, run func(r *Run) error) error {
	i := 0
	outside := func(to int) error {
		for ; i < to; i++ {
			if err := visit(i, once); err != nil {
				return err
			}
		}
		return nil
	}
	for j := range p.Runs {
		r := &p.Runs[j]
		if err := outside(r.From); err != nil {
			return err
		}
		if err := run(r); err != nil {
			return err
		}
		i = r.To
	}
	return outside(len(p.Instrs))
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

// each calls do for the buffers of a list, by their places in it, that an instruction
// takes for instance k. Outside of runs, it takes those of every instance: where
// several in a row are of one stack, all of the first instance, then all of the second.
func (d *Device) each(list []int, k int, do func(i, k int)) {
	for i := 0; i < len(list); {
		stack := d.Buffers[list[i]].Stack
		if k != once || stack == 0 {
			do(i, k)
			i++
			continue
		}
		j := i + 1
		for j < len(list) && d.Buffers[list[j]].Stack == stack {
			j++
		}
		for instance := range d.Count(stack) {
			for n := i; n < j; n++ {
				do(n, instance)
			}
		}
		i = j
	}
}

// of is a path or scope of instance k; of what is there once, the path itself.
func of(path string, k int) string {
	if k == once {
		return path
	}
	return openpath.Of(path, k)
}
