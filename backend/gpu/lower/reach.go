package lower

import (
	"ptc/backend/elementwise"
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// placed is a tile in shared memory.
type placed struct {
	mem  thread.Shared
	dims []*tile.Range
	in   *layout.Memory
}

// of is the address of the position that has the coordinates b along dims, some of which p may lack.
func (p placed) of(dims []*tile.Range, b layout.Basis) int {
	return p.in.Of(assign.Project(b, dims, p.dims))
}

// bits are the addresses of the bits of a position along r; none where p lacks it.
func (p placed) bits(r *tile.Range) []int {
	for i, d := range p.dims {
		if d == r {
			return p.in.Bits[i]
		}
	}
	return nil
}

// reach is where the elements of a layout are in a tile in shared memory: the thread's address,
// and what the bits of a register's number change in it.
type reach struct {
	code
	mem  thread.Shared
	base *thread.Value // in elements; nil is 0
	mask int           // the bits that base may have
	from int           // what all registers have
	regs []int
}

func (c code) reach(p placed, dims []*tile.Range, at *layout.Layout) *reach {
	all := func(bases []layout.Basis) []int {
		out := make([]int, len(bases))
		for i, b := range bases {
			out[i] = p.of(dims, b)
		}
		return out
	}
	x := &reach{code: c, mem: p.mem, regs: all(at.Reg)}
	if at.From != nil {
		x.from = p.of(dims, at.From)
	}
	return x.moved(c.Special(thread.Lane), all(at.Lane)).moved(c.Special(thread.Warp), all(at.Warp))
}

// moved is x with what the bits of n bring in the thread's address.
func (x *reach) moved(n *thread.Value, bases []int) *reach {
	out := *x
	for _, b := range bases {
		out.mask |= b
	}
	if more := x.linear(n, bases); more != nil {
		if out.base != nil {
			more = x.Xor(out.base, more)
		}
		out.base = more
	}
	return &out
}

// number is how far register r is apart.
func (x *reach) number(r int) int {
	a := x.from
	for i, b := range x.regs {
		if r>>i&1 != 0 {
			a ^= b
		}
	}
	return a
}

// at is the place of the element that is a apart: added where the thread's address has none of its
// bits.
func (x *reach) at(a int) thread.Shared {
	mem := x.mem
	if x.base != nil {
		base := x.base
		if low := a & x.mask; low != 0 {
			base = x.Xor(base, x.i32(int64(low)))
		}
		mem = x.Within(mem, base)
		a &^= x.mask
	}
	return mem.Plus(int64(a))
}

// width is how many neighbours, 16 bytes at most, one access reaches, where the bits bring those
// that are wanted.
func (x *reach) width(bits []int) int {
	w := 1
	for w*2*x.mem.Elem.Bytes() <= 16 {
		found := false
		for _, b := range bits {
			found = found || b == w
			if b != w && b&w != 0 {
				return w
			}
		}
		if !found || (x.mask|x.from)&w != 0 {
			return w
		}
		w *= 2
	}
	return w
}

// reader reads elements by what they are apart, neighbours in one access.
type reader struct {
	x     *reach
	width int
	known map[int]*thread.Value
}

func (x *reach) reader(bits []int) *reader {
	return &reader{x, x.width(bits), map[int]*thread.Value{}}
}

func (r *reader) get(a int) *thread.Value {
	if r.known[a] == nil {
		first := a &^ (r.width - 1)
		for i, v := range r.x.LoadShared(r.x.at(first), thread.Access{N: r.width}) {
			r.known[first+i] = v
		}
	}
	if r.known[a] == nil { // the load has failed, and said so
		return r.x.i32(0)
	}
	return r.known[a]
}

// read is the elements of all registers.
func (x *reach) read(n int) []*thread.Value {
	r := x.reader(x.regs)
	out := make([]*thread.Value, n)
	for i := range out {
		out[i] = r.get(x.number(i))
	}
	return out
}

// write stores registers, by the threads for which once holds.
func (x *reach) write(vs []*thread.Value, once *thread.Value) {
	w := x.width(x.regs)
	by := map[int]*thread.Value{}
	for r, v := range vs {
		by[x.number(r)] = v
	}
	for r := range vs {
		a := x.number(r)
		if a&(w-1) != 0 {
			continue
		}
		group := make([]*thread.Value, w)
		for i := range group {
			group[i] = by[a+i]
		}
		x.StoreShared(x.at(a), thread.Access{If: once}, group)
	}
}

// move takes the elements x of a tile from one layout to another, through shared memory: each
// element is written by one thread, and read by those that have it then.
func (c code) move(x []*thread.Value, t tile.Type, from, to *layout.Layout) []*thread.Value {
	// Of a slice, only those registers are moved that have it.
	var fixed []layout.Basis
	for _, b := range from.Reg {
		if to.From != nil && !layout.Has(to.Reg, b) && !layout.Has(to.Lane, b) && !layout.Has(to.Warp, b) {
			fixed = append(fixed, b)
		}
	}
	if len(fixed) > 0 {
		part, regs := from.Slice(fixed, to.From)
		all := x
		x = make([]*thread.Value, len(regs))
		for i, r := range regs {
			x[i] = all[r]
		}
		from = part
	}
	if from.Equal(to) {
		return x
	}
	e := elementwise.Register(t.DType, 1).Elem
	truth := e == kernel.I1
	if truth {
		e = kernel.I32
		x = append([]*thread.Value(nil), x...)
		for r, y := range x {
			x[r] = c.Convert(y, kernel.I32)
		}
	}
	in := layout.Dense(from.Sizes, first(to), fixed...)
	dims := t.Dims
	p := placed{dims: dims, in: in}
	bytes := func(at *layout.Layout) int {
		p.mem = thread.Shared{Elem: e}
		x := c.reach(p, dims, at)
		return x.width(x.regs) * e.Bytes()
	}
	in.Swizzle(assign.Vec(e), together(to, bytes(to)), together(from, bytes(from)))
	var out []*thread.Value
	c.Overlay(func() {
		p.mem = c.NewShared(e, in.Elems, 128)
		c.Sync()
		c.reach(p, dims, from).write(x, c.once(from))
		c.Sync()
		out = c.reach(p, dims, to).read(to.Regs())
	})
	if truth {
		for r := range out {
			out[r] = c.Ne(out[r], c.i32(0))
		}
	}
	return out
}

// first is the dimension along which the first registers, or else lanes, go on.
func first(at *layout.Layout) int {
	for _, bases := range [][]layout.Basis{at.Reg, at.Lane, at.Warp} {
		for _, b := range bases {
			for d, n := range b {
				if n != 0 {
					return d
				}
			}
		}
	}
	return 0
}

// together are the bits of lanes whose accesses of 16 bytes, or of the fewer that width elements have,
// the banks serve at once.
func together(at *layout.Layout, bytes int) []layout.Basis {
	n := 3
	for ; bytes < 16 && n < len(at.Lane); bytes *= 2 {
		n++
	}
	return at.Lane[:n]
}
