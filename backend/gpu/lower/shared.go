package lower

import (
	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// Whoever writes to shared memory waits first until all threads have read what was there before. So
// arrays whose readers are done may be in one place (thread.Builder.Overlay).

// placed is a tile in shared memory.
type placed struct {
	mem  thread.Shared
	dims []*tile.Range
	in   *layout.Memory
}

// of is the address of the position that has the coordinates b along dims, some of which p may lack.
func (p placed) of(dims []*tile.Range, b layout.Basis) int {
	return p.in.Of(project(b, dims, p.dims))
}

// project is b, of dims, as a position of a tile over others: 0 along what b lacks.
func project(b layout.Basis, dims, others []*tile.Range) layout.Basis {
	out := make(layout.Basis, len(others))
	for i, r := range others {
		for d, x := range dims {
			if x == r {
				out[i] = b[d]
			}
		}
	}
	return out
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
	l    *lowering
	mem  thread.Shared
	base *thread.Value // in elements; nil is 0
	mask int           // the bits that base may have
	from int           // what all registers have
	regs []int
}

func (l *lowering) reach(p placed, dims []*tile.Range, at *layout.Layout) *reach {
	all := func(bases []layout.Basis) []int {
		out := make([]int, len(bases))
		for i, b := range bases {
			out[i] = p.of(dims, b)
		}
		return out
	}
	x := &reach{l: l, mem: p.mem, regs: all(at.Reg)}
	if at.From != nil {
		x.from = p.of(dims, at.From)
	}
	return x.moved(l.b.Special(thread.Lane), all(at.Lane)).moved(l.warp(), all(at.Warp))
}

// moved is x with what the bits of n bring in the thread's address.
func (x *reach) moved(n *thread.Value, bases []int) *reach {
	out := *x
	for _, b := range bases {
		out.mask |= b
	}
	if more := x.l.linear(n, bases); more != nil {
		if out.base != nil {
			more = x.l.b.Xor(out.base, more)
		}
		out.base = more
	}
	return &out
}

// linear is the exclusive or of those of the bases whose bit is set in n; nil where all are 0. Bits
// of n that go on as those of the bases do are taken together.
func (l *lowering) linear(n *thread.Value, bases []int) *thread.Value {
	var sum *thread.Value
	left := append([]int(nil), bases...)
	for i := range left {
		for s := 0; left[i]>>s != 0; s++ {
			if left[i]>>s&1 == 0 {
				continue
			}
			run := 0
			for i+run < len(left) && left[i+run]>>(s+run)&1 != 0 {
				left[i+run] ^= 1 << (s + run)
				run++
			}
			part := l.b.And(l.b.LShr(n, l.i32(int64(i))), l.i32(1<<run-1))
			part = l.b.Mul(part, l.i32(1<<s))
			if sum != nil {
				part = l.b.Xor(sum, part)
			}
			sum = part
		}
	}
	return sum
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
			base = x.l.b.Xor(base, x.l.i32(int64(low)))
		}
		mem = x.l.b.Within(mem, base)
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
		for i, v := range r.x.l.b.LoadShared(r.x.at(first), thread.Access{N: r.width}) {
			r.known[first+i] = v
		}
	}
	if r.known[a] == nil { // the load has failed, and said so
		return r.x.l.i32(0)
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
		x.l.b.StoreShared(x.at(a), thread.Access{If: once}, group)
	}
}

// together are the bits of lanes whose accesses of 16 bytes, or of the fewer that width elements have,
// the banks serve at once.
func together(at *layout.Layout, bytes int) []layout.Basis {
	n := 3
	for ; bytes < 16 && n < layout.LaneBits; bytes *= 2 {
		n++
	}
	return at.Lane[:n]
}

// vec is how many elements e have 16 bytes.
func vec(e kernel.Elem) int { return max(1, 16/e.Bytes()) }

// contiguous is the dimension of v whose neighbours are next to each other in the memory that most of
// it is loaded from; the last one where that is none.
func (l *lowering) contiguous(v *tile.Value) int {
	best, most := max(0, len(v.Type.Dims)-1), 0
	seen := map[*tile.Value]bool{}
	var walk func(x *tile.Value)
	walk = func(x *tile.Value) {
		if seen[x] || x.Def == nil || l.held[x] != nil {
			return
		}
		seen[x] = true
		switch o := x.Def; {
		case o.Kind == tile.Load || o.Kind == tile.Copy:
			if r := neighbours(o); r != nil && len(x.Type.Dims) > most {
				for d, y := range v.Type.Dims {
					if y == r {
						best, most = d, len(x.Type.Dims)
					}
				}
			}
		case o.Kind == tile.Repeat || elementwise.Known(o.Kind):
			for _, a := range o.Args {
				walk(a)
			}
		}
	}
	walk(v)
	return best
}

// neighbours is the range of a load along which elements are next to each other, or nil.
func neighbours(o *tile.Op) *tile.Range {
	for i, a := range o.View.Axes {
		if a.Stride == 1 && len(o.At[i].Terms) == 1 && o.At[i].Terms[0].Coef == 1 {
			if r := o.At[i].Terms[0].Range; r != nil && r.Size > 1 {
				return r
			}
		}
	}
	return nil
}

// share puts v into shared memory, zero where it does not exist, and waits for all threads to
// have done so.
func (l *lowering) share(v *tile.Value, in *layout.Memory) placed {
	if p, ok := l.placed[v]; ok {
		return p
	}
	p := l.slots(v, in, 1)
	at := l.writers(v, in)
	x := l.complete(v, at)
	l.b.Sync()
	l.reach(p, p.dims, at).write(x, l.once(at))
	if in.Span > 0 {
		l.b.FenceProxy()
	}
	l.b.Sync()
	l.placed[v] = p
	return p
}

// slots is memory for so many of v, one behind the other.
func (l *lowering) slots(v *tile.Value, in *layout.Memory, n int) placed {
	align := 128
	if in.Span > 0 {
		align = 8 * in.Span // what is exchanged is by addresses
	}
	return placed{mem: l.b.NewShared(l.operandElem(v), n*in.Elems, align), dims: v.Type.Dims, in: in}
}

// writers is the layout in which v is put into shared memory: neighbours of 16 bytes by a thread.
func (l *lowering) writers(v *tile.Value, in *layout.Memory) *layout.Layout {
	if l.turned(v, in) {
		return l.turners(v)
	}
	if at := l.held[v]; at != nil {
		return at
	}
	return layout.Blocked(l.sizes(v.Type.Dims), l.contiguous(v), vec(elementwise.Elem(v.Type.DType)), l.warps)
}

// complete is v with zeros where it does not exist.
func (l *lowering) complete(v *tile.Value, at *layout.Layout) []*thread.Value {
	x := l.value(v, at)
	in := l.exists(at, v.Type.Dims)
	if in == nil {
		return x
	}
	out := make([]*thread.Value, len(x))
	for r, y := range x {
		out[r] = l.b.Select(in(r), y, l.b.Const(y.Type, 0))
	}
	return out
}
