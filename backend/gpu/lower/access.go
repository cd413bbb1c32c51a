package lower

import (
	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// coordinate is the position of a thread's register 0 along dimension d of a layout, from the
// first one of the block; registers add to it what [layout.Layout.Offset] says.
func (l *lowering) coordinate(at *layout.Layout, d int) *thread.Value {
	sum := l.i32(0)
	if at.From != nil {
		sum = l.i32(int64(at.From[d]))
	}
	lane, warp := l.b.Special(thread.Lane), l.warp()
	for _, x := range []struct {
		n     *thread.Value
		bases []layout.Basis
	}{{lane, at.Lane}, {warp, at.Warp}} {
		for i := 0; i < len(x.bases); {
			if x.bases[i][d] == 0 {
				i++
				continue
			}
			// Bits that go on as the number does are taken together.
			n := 1
			for i+n < len(x.bases) && x.bases[i+n][d] == x.bases[i][d]<<n {
				n++
			}
			bits := x.n
			if i > 0 {
				bits = l.b.LShr(bits, l.i32(int64(i)))
			}
			bits = l.b.And(bits, l.i32(1<<n-1))
			sum = l.b.Add(sum, l.b.Mul(bits, l.i32(int64(x.bases[i][d]))))
			i += n
		}
	}
	return sum
}

// warp is the number of the warp.
func (l *lowering) warp() *thread.Value { return l.b.LShr(l.b.Special(thread.Thread), l.i32(5)) }

// exists is, for each register, whether its element does; nil where all do.
func (l *lowering) exists(at *layout.Layout, dims []*tile.Range) func(r int) *thread.Value {
	type bound struct {
		d     int
		limit *thread.Value // of the coordinate
	}
	var bounds []bound
	for d, r := range dims {
		if limit := l.limit(r); limit != nil {
			bounds = append(bounds, bound{d, l.b.Sub(limit, l.coordinate(at, d))})
		}
	}
	if len(bounds) == 0 {
		return nil
	}
	return func(r int) *thread.Value {
		var all *thread.Value
		for _, x := range bounds {
			in := l.b.Lt(l.i32(int64(at.Offset(r, x.d))), x.limit)
			if all == nil {
				all = in
			} else {
				all = l.b.And(all, in)
			}
		}
		return all
	}
}

// limit is how many positions of r there are, where it is not always as many as layouts have.
func (l *lowering) limit(r *tile.Range) *thread.Value {
	switch whole := r.Extent%r.Size == 0; {
	case whole && int64(l.size(r)) == r.Size:
		return nil
	case whole:
		return l.i32(r.Size)
	}
	return l.b.Min(l.i32(r.Size), l.b.Sub(l.i32(r.Extent), l.first[r]))
}

func (l *lowering) positions(o *tile.Op, at *layout.Layout) []*thread.Value {
	first := l.first[o.Range]
	if len(at.Sizes) == 0 {
		return []*thread.Value{first}
	}
	first = l.b.Add(first, l.coordinate(at, 0))
	out := make([]*thread.Value, at.Regs())
	for r := range out {
		out[r] = l.b.Add(first, l.i32(int64(at.Offset(r, 0))))
	}
	return out
}

// place is where the element of each register of a layout of dims is in the buffer that o
// accesses: an index that all registers share, what a register adds, and whether a position
// that is looked up is in range, nil if none is.
type place struct {
	base   kernel.Index
	offset func(r int) int64
	looked func(r int) (kernel.Index, *thread.Value)
	stride []int64 // by dimension
	pad    []int64 // by dimension: how many elements that hold nothing are behind its last one
	whole  int64   // what the base is a multiple of, whatever the thread
}

func (l *lowering) place(o *tile.Op, dims []*tile.Range, at *layout.Layout) place {
	p := l.strides(o, dims, at)
	for i, a := range o.View.Axes {
		if isLooked(o.At[i]) {
			continue
		}
		p.base = p.base.Plus(o.At[i].Const * int64(a.Stride))
		for _, t := range o.At[i].Terms {
			p.base = p.base.Add(kernel.Of(l.b.Convert(l.first[t.Range], kernel.I64)).Mul(t.Coef * int64(a.Stride)))
		}
	}
	for d := range dims {
		if p.stride[d] != 0 {
			p.base = p.base.Add(kernel.Of(l.b.Convert(l.coordinate(at, d), kernel.I64)).Mul(p.stride[d]))
		}
	}
	return p
}

// strides is a place but for what depends on the thread and the block.
func (l *lowering) strides(o *tile.Op, dims []*tile.Range, at *layout.Layout) place {
	p := place{base: kernel.Int(int64(o.View.Offset)), stride: make([]int64, len(dims)), pad: make([]int64, len(dims)), whole: 1 << 20}
	p.align(int64(o.View.Offset))
	for i, a := range o.View.Axes {
		if isLooked(o.At[i]) {
			p.looked = l.lookup(o, dims, at)
			p.whole = 1
			continue
		}
		p.align(o.At[i].Const * int64(a.Stride))
		for _, t := range o.At[i].Terms {
			by := t.Coef * int64(a.Stride)
			if t.Range.Blocks() > 1 { // else it is at 0
				p.align(by * t.Range.Size)
			}
			for d, r := range dims {
				if r == t.Range {
					p.stride[d] += by
					if len(o.At[i].Terms) == 1 && o.At[i].Const == 0 && by == 1 && r.Extent == int64(a.Size) {
						p.pad[d] = int64(a.Pad)
					}
				}
			}
		}
	}
	for d := range dims {
		if p.stride[d] != 0 && p.stride[d] != 1 {
			p.align(p.stride[d])
		}
	}
	p.offset = func(r int) int64 {
		n := int64(0)
		for d, s := range p.stride {
			n += s * int64(at.Offset(r, d))
		}
		return n
	}
	return p
}

// align notes that a multiple of n is added to the base.
func (p *place) align(n int64) {
	for n%p.whole != 0 {
		p.whole /= 2
	}
}

func isLooked(x tile.Affine) bool {
	for _, t := range x.Terms {
		if t.Value != nil {
			return true
		}
	}
	return false
}

// lookup is the part of the index of axes whose position is looked up.
func (l *lowering) lookup(o *tile.Op, dims []*tile.Range, at *layout.Layout) func(r int) (kernel.Index, *thread.Value) {
	return func(r int) (sum kernel.Index, inside *thread.Value) {
		for i, a := range o.View.Axes {
			if !isLooked(o.At[i]) {
				continue
			}
			j := l.i32(o.At[i].Const)
			for _, t := range o.At[i].Terms {
				var x *thread.Value
				if t.Value != nil {
					regs, pick := l.part(t.Value, dims, at)
					x = regs[pick(r)]
				} else {
					x = l.at(t.Range, dims, at, r)
				}
				j = l.b.Add(j, l.b.Mul(x, l.i32(t.Coef)))
			}
			in := l.b.And(l.b.Le(l.i32(0), j), l.b.Lt(j, l.i32(int64(a.Size))))
			if inside == nil {
				inside = in
			} else {
				inside = l.b.And(inside, in)
			}
			sum = sum.Add(kernel.Of(l.b.Convert(j, kernel.I64)).Mul(int64(a.Stride)))
		}
		return sum, inside
	}
}

// at is the position along r of register n of a layout of dims.
func (l *lowering) at(r *tile.Range, dims []*tile.Range, at *layout.Layout, n int) *thread.Value {
	for d, x := range dims {
		if x == r {
			return l.b.Add(l.b.Add(l.first[r], l.coordinate(at, d)), l.i32(int64(at.Offset(n, d))))
		}
	}
	return l.first[r]
}

// width is how many registers from 0 on have neighbours in memory, which one access reaches
// wherever the thread is: at most 16 bytes.
func (p *place) width(at *layout.Layout, dims []*tile.Range, e kernel.Elem) int {
	if p.looked != nil {
		return 1
	}
	n := 1
	for n*2 <= at.Regs() && n*2*e.Bytes() <= 16 && p.offset(n) == int64(n) && p.whole%int64(n*2) == 0 {
		n *= 2
	}
	for d, r := range dims { // where a limit cuts through neighbours, they are apart, unless what is behind it is padding
		for n > 1 && p.stride[d] == 1 && (p.past(d, r, n) > p.pad[d] || r.Size%int64(n) != 0 && r.Blocks() > 1) {
			n /= 2
		}
		if n > 1 && p.stride[d] == 1 && !at.Steps(d, n) {
			n = 1
		}
	}
	return n
}

// past is how many elements behind the last of r, dimension d, an access of n neighbours reaches.
func (p *place) past(d int, r *tile.Range, n int) int64 {
	if p.stride[d] != 1 {
		return 0
	}
	return (r.Extent+int64(n)-1)/int64(n)*int64(n) - r.Extent
}

// load is zero where nothing exists, but for padding that comes with elements.
func (l *lowering) load(o *tile.Op, at *layout.Layout) []*thread.Value {
	dims := o.Result().Type.Dims
	p := l.place(o, dims, at)
	in := l.exists(at, dims)
	buf := l.bufs[o.View.Buffer]
	n := p.width(at, dims, buf.Elem)
	base := l.b.At(buf, p.base)
	out := make([]*thread.Value, 0, at.Regs())
	for r := 0; r < at.Regs(); r += n {
		a := thread.Access{N: n}
		if in != nil {
			a.If = in(r)
		}
		from := base
		if p.looked != nil {
			more, inside := p.looked(r)
			from = l.b.At(from, more)
			a.If = l.both(a.If, inside)
		}
		out = append(out, l.b.Load(l.b.At(from, kernel.Int(p.offset(r))), a)...)
	}
	return out
}

func (l *lowering) both(x, y *thread.Value) *thread.Value {
	switch {
	case x == nil:
		return y
	case y == nil:
		return x
	}
	return l.b.And(x, y)
}

// random is Philox at the elements' numbers, as ir/tensor.Bits has it.
func (l *lowering) random(o *tile.Op, at *layout.Layout) []*thread.Value {
	dims := o.Result().Type.Dims
	scalar := layout.Blocked(nil, 0, 1, l.warps)
	word := func(i int) *thread.Value { return l.value(o.Args[i], scalar)[0] }
	out := make([]*thread.Value, at.Regs())
	for r := range out {
		e := kernel.Int(o.At[0].Const)
		for _, t := range o.At[0].Terms {
			x := (*thread.Value)(nil)
			if t.Value != nil {
				regs, pick := l.part(t.Value, dims, at)
				x = regs[pick(r)]
			} else {
				x = l.at(t.Range, dims, at, r)
			}
			e = e.Add(kernel.Of(l.b.Convert(x, kernel.I64)).Mul(t.Coef))
		}
		out[r] = elementwise.Random(l.b.Builder, o.Normal, l.b.Value(e), word(0), word(1), word(2))
	}
	return out
}

// scatter adds a tile to a view. The thread that has an element adds it; that elements of
// one place are added in order, and by one thread, is because where they go is looked up once for
// the whole tile, and later tiles have the same layout.
func (l *lowering) scatter(o *tile.Op) {
	dims := o.Span()
	for i := range o.At {
		for _, t := range o.At[i].Terms {
			if t.Value != nil && len(t.Value.Type.Dims) > 0 {
				l.fail("found a scatter whose tile goes to several places; it has no code for GPUs")
				return
			}
		}
	}
	at := l.natural(dims)
	p := l.place(o, dims, at)
	in := l.exists(at, dims)
	once := l.once(at)
	buf := l.bufs[o.View.Buffer]
	base := l.b.At(buf, p.base)
	regs, pick := l.part(o.Args[0], dims, at)
	for r := range at.Regs() {
		a := thread.Access{N: 1, If: once}
		if in != nil {
			a.If = l.both(in(r), once)
		}
		to := base
		if p.looked != nil {
			more, inside := p.looked(r)
			to = l.b.At(to, more)
			a.If = l.both(a.If, inside)
		}
		to = l.b.At(to, kernel.Int(p.offset(r)))
		old := l.b.Load(to, a)[0]
		l.b.Store(to, thread.Access{If: a.If}, []*thread.Value{l.b.Add(old, regs[pick(r)])})
	}
}
