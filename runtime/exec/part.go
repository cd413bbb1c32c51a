package exec

import (
	"slices"

	"ptc/runtime/program"
)

// part is a box of a whole tensor in a device's memory.
type part struct {
	rank   int
	own    bool  // no lower rank has the same box
	shape  []int // of the whole
	lo, hi []int
	mem    []byte // the box, row-major; nil on a device of another process
	elem   int    // bytes of one element
}

func (m *Machine) part(d *device, b *program.Buffer, mem []byte) part {
	p := part{rank: d.rank, mem: mem, elem: program.DTypeSize(b.DType)}
	p.lo, p.hi = m.plan.Box(d.rank, b.Axes)
	for _, a := range b.Axes {
		p.shape = append(p.shape, a.Global)
	}
	return p
}

func (p *part) wholeBytes() int { return product(p.shape) * p.elem }

// runs calls f for the pieces of the box's elements [from, to) that are
// contiguous in the whole tensor too: local and whole are where a piece of n
// elements begins in either.
//
// Axes from cut+1 on are whole, so that a row of the box is a range of the axis
// cut and all that is below it.
func (p *part) runs(from, to int, f func(local, whole, n int)) {
	cut, below := len(p.shape)-1, 1
	for cut > 0 && p.lo[cut] == 0 && p.hi[cut] == p.shape[cut] {
		below *= p.shape[cut]
		cut--
	}
	row := below
	if cut >= 0 {
		row = (p.hi[cut] - p.lo[cut]) * below
	}
	for at := from; at < to; {
		r, within := at/row, at%row
		n := min(row-within, to-at)
		start, stride := within, below
		if cut >= 0 {
			start += p.lo[cut] * below
			stride *= p.shape[cut]
		}
		for i := cut - 1; i >= 0; i-- {
			size := p.hi[i] - p.lo[i]
			start += (p.lo[i] + r%size) * stride
			r /= size
			stride *= p.shape[i]
		}
		f(at, start, n)
		at += n
	}
}

func (p *part) elems() int {
	n := 1
	for i := range p.lo {
		n *= p.hi[i] - p.lo[i]
	}
	return n
}

func (p *part) bytes() int { return p.elems() * p.elem }

// slice is the box for others to read.
func (p *part) slice(mem []byte) Slice { return Slice{Rank: p.rank, Lo: p.lo, Hi: p.hi, Bytes: mem} }

// add appends a part, which are in order of rank, and says whether its box is a
// lower rank's, too.
func add(parts []part, p part) []part {
	p.own = true
	for i := range parts {
		p.own = p.own && !slices.Equal(parts[i].lo, p.lo)
	}
	return append(parts, p)
}

// gather copies the box into its place in the whole tensor.
func (p *part) gather(whole []byte) {
	p.runs(0, p.elems(), func(local, at, n int) {
		copy(whole[at*p.elem:(at+n)*p.elem], p.mem[local*p.elem:])
	})
}

// place copies elements of the box, from that one on, into the whole tensor.
func (p *part) place(whole []byte, from int, mem []byte) {
	p.runs(from, from+len(mem)/p.elem, func(local, at, n int) {
		copy(whole[at*p.elem:(at+n)*p.elem], mem[(local-from)*p.elem:])
	})
}

// scatter copies the box out of the whole tensor.
func (p *part) scatter(whole []byte) {
	p.runs(0, p.elems(), func(local, at, n int) {
		copy(p.mem[local*p.elem:(local+n)*p.elem], whole[at*p.elem:])
	})
}
