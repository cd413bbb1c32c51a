package lower

import (
	"ptc/backend/elementwise"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// known is v where it has been computed for the present position, or nil.
func (l *lowering) known(v *tile.Value) *kernel.Value {
	for i := len(l.scopes) - 1; i >= 0; i-- {
		if x := l.scopes[i][v]; x != nil {
			return x
		}
	}
	return nil
}

// value is v at the present position: a vector where it varies along the vector range,
// else a scalar.
func (l *lowering) value(v *tile.Value) *kernel.Value {
	if x := l.known(v); x != nil {
		return x
	}
	if l.inScratch(v) {
		r, lanes := l.kept[v].ref(l), 1
		if r.Stride != 0 {
			r, lanes = r.Masked(l.mask), l.lanes
		}
		x := l.b.Load(r, lanes)
		l.know(v, x)
		return x
	}
	if g := l.regs[v]; g != nil {
		return l.pick(g)
	}
	if f := l.instead[v]; f != nil {
		x := f()
		l.know(v, x)
		return x
	}
	o := v.Def
	var x *kernel.Value
	switch f := pure[o.Kind]; {
	case f != nil:
		x = f(l, o)
	case elementwise.Known(o.Kind):
		x = l.elementwise(o)
	default:
		l.fail("found a tile of %s demanded before it is computed; it is not lowered yet", o.Kind)
		return l.b.Const(register(v.Type.DType, 1), 0)
	}
	if e := elem(v.Type.DType); v.Type.Space == tile.Shared && e.IsNarrow() && v.Def.View == nil {
		x = l.b.Round(x, e)
	}
	l.know(v, x)
	return x
}

// pure are the operations that are computed at a position, besides elementwise ones.
var pure map[tile.Kind]func(l *lowering, o *tile.Op) *kernel.Value

func init() {
	pure = map[tile.Kind]func(l *lowering, o *tile.Op) *kernel.Value{
		tile.Load: (*lowering).load,
		tile.Copy: (*lowering).load,
		tile.Const: func(l *lowering, o *tile.Op) *kernel.Value {
			return l.b.Const(register(o.Result().Type.DType, 1), o.Const)
		},
		tile.Index: func(l *lowering, o *tile.Op) *kernel.Value {
			c := l.where(o.Range)
			return l.spread(l.b.Convert(l.b.Value(c.idx), kernel.I32), c)
		},
		tile.First: func(l *lowering, o *tile.Op) *kernel.Value {
			return l.b.Convert(l.b.Value(l.first[o.Range]), kernel.I32)
		},
		tile.Last: func(l *lowering, o *tile.Op) *kernel.Value {
			return l.b.Convert(l.b.Value(l.first[o.Range].Plus(l.n[o.Range]-1)), kernel.I32)
		},
		tile.Repeat: func(l *lowering, o *tile.Op) *kernel.Value { return l.value(o.Args[0]) },
		tile.Random: (*lowering).random,
	}
}

// where is the present position along r.
func (l *lowering) where(r *tile.Range) coord {
	if c, ok := l.at[r]; ok {
		return c
	}
	return coord{idx: l.first[r]}
}

// spread adds what distinguishes the lanes of position c to x, an i32 scalar.
func (l *lowering) spread(x *kernel.Value, c coord) *kernel.Value {
	if c.vec {
		x = l.b.Add(l.b.Splat(x, l.lanes), l.b.Iota(l.lanes))
	}
	return x
}

// affine is x without what it looks up, at the present position: where the first lane
// is, and the distance between lanes.
func (l *lowering) affine(x tile.Affine) (first kernel.Index, step int64) {
	first = kernel.Int(x.Const)
	for _, t := range x.Terms {
		if t.Range == nil {
			continue
		}
		c := l.where(t.Range)
		first = first.Add(c.idx.Mul(t.Coef))
		if c.vec {
			step += t.Coef
		}
	}
	return first, step
}

// ref is the place of what o accesses at the present position, whether it differs by
// lane, and for what is looked up whether that is in range.
func (l *lowering) ref(o *tile.Op) (r kernel.Ref, vector bool, inside *kernel.Value) {
	v := o.View
	idx, step := kernel.Int(int64(v.Offset)), int64(0)
	var gather *kernel.Value
	for i, a := range v.Axes {
		stride := int64(a.Stride)
		if at, ok := l.sure[i]; ok {
			idx = idx.Add(at.Mul(stride))
			continue
		}
		if j := l.looked(o.At[i]); j != nil {
			j, in := l.clamp(j, int64(a.Size))
			if inside = l.both(inside, in); j.Type.Lanes == 1 {
				idx = idx.Add(kernel.Of(l.b.Convert(j, kernel.I64)).Mul(stride))
				continue
			}
			x := l.b.Mul(j, l.b.ConstInt(j.Type, stride))
			gather = l.plus(gather, x)
			continue
		}
		first, by := l.affine(o.At[i])
		idx = idx.Add(first.Mul(stride))
		step += by * stride
	}
	r = kernel.Ref{Buf: l.bufs[v.Buffer], Index: idx, Stride: step}
	if gather != nil {
		if step != 0 {
			gather = l.b.Add(gather, l.b.Mul(l.b.Iota(l.lanes), l.b.ConstInt(gather.Type, step)))
		}
		r.Stride, r.Gather = 1, gather
	}
	return r, step != 0 || gather != nil, inside
}

// both is whether x, if there is one, and y hold.
func (l *lowering) both(x, y *kernel.Value) *kernel.Value {
	if x == nil {
		return y
	}
	lanes := max(x.Type.Lanes, y.Type.Lanes)
	return l.b.And(l.b.Splat(x, lanes), l.b.Splat(y, lanes))
}

// looked is the position that x looks up, as i32, or nil where it looks none up.
func (l *lowering) looked(x tile.Affine) *kernel.Value {
	var sum *kernel.Value
	for _, t := range x.Terms {
		if t.Value == nil {
			continue
		}
		v := l.value(t.Value)
		if t.Coef != 1 {
			v = l.b.Mul(v, l.b.ConstInt(v.Type, t.Coef))
		}
		sum = l.plus(sum, v)
	}
	if sum == nil {
		return nil
	}
	for _, t := range x.Terms {
		if t.Range != nil {
			c := l.where(t.Range)
			v := l.spread(l.b.Convert(l.b.Value(c.idx), kernel.I32), c)
			sum = l.plus(sum, l.b.Mul(v, l.b.ConstInt(v.Type, t.Coef)))
		}
	}
	if x.Const != 0 {
		sum = l.b.Add(sum, l.b.ConstInt(sum.Type, x.Const))
	}
	return sum
}

func (l *lowering) plus(x, y *kernel.Value) *kernel.Value {
	if x == nil {
		return y
	}
	lanes := max(x.Type.Lanes, y.Type.Lanes)
	return l.b.Add(l.b.Splat(x, lanes), l.b.Splat(y, lanes))
}

// clamp is index j, kept within [0, n), and whether it was in range.
func (l *lowering) clamp(j *kernel.Value, n int64) (*kernel.Value, *kernel.Value) {
	zero, top := l.b.ConstInt(j.Type, 0), l.b.ConstInt(j.Type, n-1)
	inside := l.b.And(l.b.Le(zero, j), l.b.Le(j, top))
	return l.b.Min(l.b.Max(j, zero), top), inside
}

// read loads what o accesses at the present position.
func (l *lowering) read(o *tile.Op) *kernel.Value { x, _ := l.found(o); return x }

func (l *lowering) found(o *tile.Op) (x, inside *kernel.Value) {
	r, vector, inside := l.ref(o)
	if !vector {
		r.Stride = 0
		return l.b.Load(r, 1), inside
	}
	return l.b.Load(r.Masked(l.mask), l.lanes), inside
}

func (l *lowering) load(o *tile.Op) *kernel.Value {
	x, inside := l.found(o)
	if inside == nil {
		return x
	}
	lanes := max(x.Type.Lanes, inside.Type.Lanes)
	x = l.b.Splat(x, lanes)
	return l.b.Select(l.b.Splat(inside, lanes), x, l.b.Like(x, 0))
}

func (l *lowering) store(o *tile.Op, x *kernel.Value) {
	r, vector, inside := l.ref(o)
	if inside != nil {
		l.fail("found a store to positions that are looked up; it is not lowered yet")
		return
	}
	if !vector {
		if r.Stride = 1; x.Type.Lanes > 1 { // of a product without columns, the first lane is the result
			x = l.b.Extract(x, 0)
		}
		l.b.Store(r, x)
		return
	}
	l.b.Store(r.Masked(l.mask), l.b.Splat(x, l.lanes))
}

// random is Philox at the elements' numbers, as ir/tensor.Bits has it.
func (l *lowering) random(o *tile.Op) *kernel.Value {
	b := l.b
	first, step := l.affine(o.At[0])
	e := b.Value(first)
	for _, t := range o.At[0].Terms {
		if t.Value != nil {
			wide := b.Convert(l.value(t.Value), kernel.I64)
			term := b.Mul(wide, b.ConstInt(wide.Type, t.Coef))
			lanes := max(e.Type.Lanes, term.Type.Lanes)
			e = b.Add(b.Splat(e, lanes), b.Splat(term, lanes))
		}
	}
	lanes := e.Type.Lanes
	if step != 0 {
		lanes = l.lanes
		s := b.Convert(b.Iota(lanes), kernel.I64)
		e = b.Add(b.Splat(e, lanes), b.Mul(s, b.ConstInt(s.Type, step)))
	}
	word := func(i int) *kernel.Value { return b.Splat(l.value(o.Args[i]), lanes) }
	return elementwise.Random(b, o.Normal, e, word(0), word(1), word(2))
}
