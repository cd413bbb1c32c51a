package lower

import (
	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// placed is a tile in shared memory, dense in the order of its dimensions.
type placed struct {
	mem    thread.Shared
	dims   []*tile.Range
	stride []int // elements, by dimension
}

// share puts v into shared memory, zero where it does not exist, and waits for all threads to
// have done so.
func (l *lowering) share(v *tile.Value) placed {
	if p, ok := l.placed[v]; ok {
		return p
	}
	p := placed{dims: v.Type.Dims, stride: make([]int, len(v.Type.Dims))}
	n := 1
	for d := len(p.dims) - 1; d >= 0; d-- {
		p.stride[d] = n
		n *= size(p.dims[d])
	}
	e := elementwise.Elem(v.Type.DType)
	p.mem = l.b.NewShared(e, n, 16)
	at := l.held[v]
	if at == nil {
		at = l.natural(p.dims)
	}
	x := l.value(v, at)
	in := l.exists(at, p.dims)
	once := l.once(at)
	l.b.Sync() // what was there before has been read
	base := l.b.Within(p.mem, l.inShared(p, p.dims, at))
	for r, y := range x {
		if in != nil {
			y = l.b.Select(in(r), y, l.b.Const(y.Type, 0))
		}
		l.b.StoreShared(base.Plus(p.offset(p.dims, at, r)), thread.Access{If: once}, []*thread.Value{y})
	}
	l.b.Sync()
	l.placed[v] = p
	return p
}

// inShared is where the thread's register 0 of a layout of dims is in p.
func (l *lowering) inShared(p placed, dims []*tile.Range, at *layout.Layout) *thread.Value {
	sum := l.i32(0)
	for i, r := range p.dims {
		for d, x := range dims {
			if x == r {
				sum = l.b.Add(sum, l.b.Mul(l.coordinate(at, d), l.i32(int64(p.stride[i]))))
			}
		}
	}
	return sum
}

// offset is how far register n is from register 0 in p.
func (p placed) offset(dims []*tile.Range, at *layout.Layout, n int) int64 {
	k := 0
	for i, r := range p.dims {
		for d, x := range dims {
			if x == r {
				k += p.stride[i] * at.Offset(n, d)
			}
		}
	}
	return int64(k)
}

// along is the distance in p between neighbours along r.
func (p placed) along(r *tile.Range) int64 {
	for i, d := range p.dims {
		if d == r {
			return int64(p.stride[i])
		}
	}
	return 0
}

// dot multiplies by fused multiply-adds: each thread has sums, for which it reads both
// operands from shared memory, a step of the contracted ranges at a time.
func (l *lowering) dot(o *tile.Op) {
	out := o.Result()
	dims := out.Type.Dims
	at := l.natural(dims)
	left, right := l.share(o.Args[0]), l.share(o.Args[1])
	var acc []*thread.Value
	if len(o.Args) == 3 {
		acc = l.value(o.Args[2], at)
	} else {
		acc = make([]*thread.Value, at.Regs())
		for r := range acc {
			acc[r] = l.b.Const(kernel.Scalar(kernel.F32), 0)
		}
	}
	a, b := l.b.Within(left.mem, l.inShared(left, dims, at)), l.b.Within(right.mem, l.inShared(right, dims, at))
	l.hold(out, at, l.steps(o.Over, acc, a, b, left, right, func(a, b thread.Shared, acc []*thread.Value) []*thread.Value {
		x, y := map[int64]*thread.Value{}, map[int64]*thread.Value{}
		read := func(known map[int64]*thread.Value, from thread.Shared, n int64) *thread.Value {
			if known[n] == nil {
				known[n] = l.b.LoadShared(from.Plus(n), thread.Access{N: 1})[0]
			}
			return known[n]
		}
		next := make([]*thread.Value, len(acc))
		for r := range acc {
			next[r] = l.b.FMA(read(x, a, left.offset(dims, at, r)), read(y, b, right.offset(dims, at, r)), acc[r])
		}
		return next
	}))
}

// steps runs body for each position of the contracted ranges, with where both operands are.
func (l *lowering) steps(over []*tile.Range, acc []*thread.Value, a, b thread.Shared, left, right placed,
	body func(a, b thread.Shared, acc []*thread.Value) []*thread.Value) []*thread.Value {
	if len(over) == 0 {
		return body(a, b, acc)
	}
	r := over[0]
	if r.Size == 1 {
		return l.steps(over[1:], acc, a, b, left, right, body)
	}
	to := l.limit(r)
	if to == nil {
		to = l.i32(r.Size)
	}
	return l.b.Loop(l.i32(0), to, 1, acc, func(i *thread.Value, acc []*thread.Value) []*thread.Value {
		return l.steps(over[1:], acc, l.b.Within(a, l.b.Mul(i, l.i32(left.along(r)))), l.b.Within(b, l.b.Mul(i, l.i32(right.along(r)))), left, right, body)
	})
}
