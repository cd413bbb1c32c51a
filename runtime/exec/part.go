package exec

import (
	"slices"

	"ptc/internal/dtype"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// Tensor describes a whole tensor that lives between steps, or a gradient.
type Tensor struct {
	Path  string      // blocks.3.attn.wq, or blocks.3.attn.wq/m for state
	DType dtype.DType // of its elements
	Axes  []string    // names
	Shape []int       // of the whole tensor
	Train bool        // a parameter that the optimizer updates
	State bool        // state of the optimizer
	Of    string      // of a state that is a copy of a parameter in more bits: its path
}

// Elems is the number of elements of the whole tensor.
func (t *Tensor) Elems() int { return product(t.Shape) }

// Bytes is the size of the whole tensor.
func (t *Tensor) Bytes() int { return dtype.Bytes(t.DType, t.Elems()) }

// Box says what one device holds of a tensor: [Lo, Hi) of the whole, row-major.
type Box struct {
	Rank   int
	Lo, Hi []int
}

// Slice is a box with its bytes.
type Slice struct {
	Box
	Bytes []byte
}

func tensorOf(path string, b *program.Buffer) Tensor {
	d, _ := dtype.Parse(b.DType) // the plan was validated
	t := Tensor{Path: path, DType: d, Axes: []string{}, Shape: []int{}, State: b.Space == program.Optimizer}
	for _, a := range b.Axes {
		t.Axes = append(t.Axes, a.Name)
		t.Shape = append(t.Shape, a.Global)
	}
	return t
}

func product(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

// box is a box of a whole tensor, of a device.
type box struct {
	rank   int
	shape  []int // of the whole
	lo, hi []int
	elem   int // bytes of one element
}

// boxOf is what a device has of a buffer.
func boxOf(plan *program.Plan, d *logical, b *program.Buffer) box {
	x := box{rank: d.rank, elem: program.DTypeSize(b.DType)}
	x.lo, x.hi = plan.Mesh.Box(d.rank, b.Axes)
	for _, a := range b.Axes {
		x.shape = append(x.shape, a.Global)
	}
	return x
}

// runs calls f for the pieces of the box's elements [from, to) that are
// contiguous in the whole tensor too: local and whole are where a piece of n
// elements begins in either.
//
// Axes from cut+1 on are whole, so that a row of the box is a range of the axis
// cut and all that is below it.
func (x *box) runs(from, to int, f func(local, whole, n int)) {
	cut, below := len(x.shape)-1, 1
	for cut > 0 && x.lo[cut] == 0 && x.hi[cut] == x.shape[cut] {
		below *= x.shape[cut]
		cut--
	}
	row := below
	if cut >= 0 {
		row = (x.hi[cut] - x.lo[cut]) * below
	}
	for at := from; at < to; {
		r, within := at/row, at%row
		n := min(row-within, to-at)
		start, stride := within, below
		if cut >= 0 {
			start += x.lo[cut] * below
			stride *= x.shape[cut]
		}
		for i := cut - 1; i >= 0; i-- {
			size := x.hi[i] - x.lo[i]
			start += (x.lo[i] + r%size) * stride
			r /= size
			stride *= x.shape[i]
		}
		f(at, start, n)
		at += n
	}
}

func (x *box) elems() int {
	n := 1
	for i := range x.lo {
		n *= x.hi[i] - x.lo[i]
	}
	return n
}

func (x *box) bytes() int      { return x.elems() * x.elem }
func (x *box) wholeBytes() int { return product(x.shape) * x.elem }

// offset is where an element of the whole is in the box's memory, in bytes.
func (x *box) offset(at []int64) (int64, bool) {
	if len(at) != len(x.lo) {
		return 0, false
	}
	n := int64(0)
	for i := range at {
		lo, hi := int64(x.lo[i]), int64(x.hi[i])
		if at[i] < lo || at[i] >= hi {
			return 0, lo == hi && at[i] == lo
		}
		n = n*(hi-lo) + at[i] - lo
	}
	return n * int64(x.elem), true
}

// of is the box for others to read.
func (x *box) of() Box { return Box{Rank: x.rank, Lo: x.lo, Hi: x.hi} }

// place copies elements of the box, from that one on, into the whole tensor.
func (x *box) place(whole []byte, from int, mem []byte) {
	x.runs(from, from+len(mem)/x.elem, func(local, at, n int) {
		copy(whole[at*x.elem:(at+n)*x.elem], mem[(local-from)*x.elem:])
	})
}

// pick copies elements of the box, from that one on, out of the whole tensor.
func (x *box) pick(mem []byte, from int, whole []byte) {
	x.runs(from, from+len(mem)/x.elem, func(local, at, n int) {
		copy(mem[(local-from)*x.elem:(local-from+n)*x.elem], whole[at*x.elem:])
	})
}

// part is a box in a device's memory.
type part struct {
	box
	own bool // no lower rank has the same box
	d   *logical
	mem device.Range // the box, row-major
}

func partOf(plan *program.Plan, d *logical, buffer int) part {
	return part{box: boxOf(plan, d, &d.prog.Buffers[buffer]), d: d, mem: d.buffer(buffer)}
}

// chunkBytes is the most that is copied or sent at a time. It is a multiple of
// every element's size.
const chunkBytes = 1 << 20

// chunks calls f with pieces of the box's memory, and the element with which each
// begins, of buf.
func (p *part) chunks(f func(from int, mem device.Range, buf []byte) error) error {
	buf := p.d.room(min(p.mem.Bytes, chunkBytes))
	for at := int64(0); at < p.mem.Bytes; at += chunkBytes {
		mem := p.mem.Slice(at, min(at+chunkBytes, p.mem.Bytes))
		if err := f(int(at)/p.elem, mem, buf[:mem.Bytes]); err != nil {
			return err
		}
	}
	return nil
}

// get calls f with what the box holds, piece by piece, and the element with which
// each begins.
func (p *part) get(f func(from int, mem []byte) error) error {
	return p.chunks(func(from int, mem device.Range, buf []byte) error {
		if err := p.d.copied(mem.Memory.CopyOut(buf, mem.Offset)); err != nil {
			return err
		}
		return f(from, buf)
	})
}

// set copies the box out of the whole tensor to the device.
func (p *part) set(whole []byte) error {
	return p.chunks(func(from int, mem device.Range, buf []byte) error {
		p.pick(buf, from, whole)
		return p.d.copied(mem.Memory.CopyIn(mem.Offset, buf))
	})
}

// add appends a part, which are in order of rank, and says whether its box is a
// lower rank's, too.
func add(parts []part, p part) []part {
	p.own = true
	for i := range parts {
		p.own = p.own && !slices.Equal(parts[i].lo, p.lo)
	}
	return append(parts, p)
}
