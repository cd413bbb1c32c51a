package lower

import (
	"fmt"

	"ptc/backend/elementwise"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// evaluator computes values of a program at a position, each when it is demanded.
type evaluator struct {
	*position
	p       *tile.Program
	bufs    map[*tile.Buffer]*kernel.Buffer
	scopes  []map[*tile.Value]*kernel.Value
	regs    map[*tile.Value]*registers
	kept    map[*tile.Value]*scratch
	instead map[*tile.Value]func() *kernel.Value // how values are computed otherwise than they are defined
	sure    map[int]kernel.Index                 // positions looked up that are in range, by axis
	err     error
}

func newEvaluator(p *tile.Program, m kernel.Machine) *evaluator {
	return &evaluator{
		position: &position{wide: int64(m.Lanes(kernel.F32)), lanes: 1,
			first: map[*tile.Range]kernel.Index{}, n: map[*tile.Range]int64{}, at: map[*tile.Range]coord{}, part: map[*tile.Range]int64{}},
		p: p, bufs: map[*tile.Buffer]*kernel.Buffer{}, scopes: []map[*tile.Value]*kernel.Value{{}},
		regs: map[*tile.Value]*registers{}, kept: map[*tile.Value]*scratch{}, instead: map[*tile.Value]func() *kernel.Value{},
	}
}

// begin starts the kernel, with a buffer for each of the program's.
func (l *evaluator) begin(name string, tasks int64) *kernel.Builder {
	l.b = kernel.New(name, tasks)
	over := map[*tile.Buffer]bool{}
	for _, b := range l.p.Buffers {
		for _, a := range b.Over {
			over[a], over[b] = true, true
		}
	}
	for _, b := range l.p.Buffers {
		use := kernel.ReadWrite
		if b.Use == tile.Read {
			use = kernel.Read
		}
		if over[b] {
			l.bufs[b] = l.b.ArgAliased(b.Name, elem(b.DType), b.Len, use)
		} else {
			l.bufs[b] = l.b.Arg(b.Name, elem(b.DType), b.Len, use)
		}
	}
	return l.b
}

// within runs body in a scope of its own: values computed there are forgotten after it.
func (l *evaluator) within(body func()) {
	l.scopes = append(l.scopes, map[*tile.Value]*kernel.Value{})
	body()
	l.scopes = l.scopes[:len(l.scopes)-1]
}

func (l *evaluator) know(v *tile.Value, x *kernel.Value) { l.scopes[len(l.scopes)-1][v] = x }

func (l *evaluator) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

// known is v where it has been computed for the present position, or nil.
func (l *evaluator) known(v *tile.Value) *kernel.Value {
	for i := len(l.scopes) - 1; i >= 0; i-- {
		if x := l.scopes[i][v]; x != nil {
			return x
		}
	}
	return nil
}

// value is v at the present position: a vector where it varies along the vector range,
// else a scalar.
func (l *evaluator) value(v *tile.Value) *kernel.Value {
	if x := l.known(v); x != nil {
		return x
	}
	if l.inScratch(v) {
		r, lanes := l.kept[v].ref(l.position), 1
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
var pure map[tile.Kind]func(l *evaluator, o *tile.Op) *kernel.Value

func init() {
	pure = map[tile.Kind]func(l *evaluator, o *tile.Op) *kernel.Value{
		tile.Load: (*evaluator).load,
		tile.Copy: (*evaluator).load,
		tile.Const: func(l *evaluator, o *tile.Op) *kernel.Value {
			return l.b.Const(register(o.Result().Type.DType, 1), o.Const)
		},
		tile.Index: func(l *evaluator, o *tile.Op) *kernel.Value {
			c := l.where(o.Range)
			return l.spread(l.b.Convert(l.b.Value(c.idx), kernel.I32), c)
		},
		tile.First: func(l *evaluator, o *tile.Op) *kernel.Value {
			return l.b.Convert(l.b.Value(l.first[o.Range]), kernel.I32)
		},
		tile.Last: func(l *evaluator, o *tile.Op) *kernel.Value {
			return l.b.Convert(l.b.Value(l.first[o.Range].Plus(l.n[o.Range]-1)), kernel.I32)
		},
		tile.Repeat: func(l *evaluator, o *tile.Op) *kernel.Value { return l.value(o.Args[0]) },
		tile.Random: (*evaluator).random,
	}
}

// ref is the place of what o accesses at the present position, whether it differs by
// lane, and for what is looked up whether that is in range.
func (l *evaluator) ref(o *tile.Op) (r kernel.Ref, vector bool, inside *kernel.Value) {
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
			j, in := clamp(l.b, j, int64(a.Size))
			if inside = both(l.b, inside, in); j.Type.Lanes == 1 {
				idx = idx.Add(kernel.Of(l.b.Convert(j, kernel.I64)).Mul(stride))
				continue
			}
			x := l.b.Mul(j, l.b.ConstInt(j.Type, stride))
			gather = plus(l.b, gather, x)
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

// looked is the position that x looks up, as i32, or nil where it looks none up.
func (l *evaluator) looked(x tile.Affine) *kernel.Value {
	var sum *kernel.Value
	for _, t := range x.Terms {
		if t.Value == nil {
			continue
		}
		v := l.value(t.Value)
		if t.Coef != 1 {
			v = l.b.Mul(v, l.b.ConstInt(v.Type, t.Coef))
		}
		sum = plus(l.b, sum, v)
	}
	if sum == nil {
		return nil
	}
	for _, t := range x.Terms {
		if t.Range != nil {
			c := l.where(t.Range)
			v := l.spread(l.b.Convert(l.b.Value(c.idx), kernel.I32), c)
			sum = plus(l.b, sum, l.b.Mul(v, l.b.ConstInt(v.Type, t.Coef)))
		}
	}
	if x.Const != 0 {
		sum = l.b.Add(sum, l.b.ConstInt(sum.Type, x.Const))
	}
	return sum
}

// read loads what o accesses at the present position.
func (l *evaluator) read(o *tile.Op) *kernel.Value { x, _ := l.found(o); return x }

func (l *evaluator) found(o *tile.Op) (x, inside *kernel.Value) {
	r, vector, inside := l.ref(o)
	if !vector {
		r.Stride = 0
		return l.b.Load(r, 1), inside
	}
	return l.b.Load(r.Masked(l.mask), l.lanes), inside
}

func (l *evaluator) load(o *tile.Op) *kernel.Value {
	x, inside := l.found(o)
	if inside == nil {
		return x
	}
	lanes := max(x.Type.Lanes, inside.Type.Lanes)
	x = l.b.Splat(x, lanes)
	return l.b.Select(l.b.Splat(inside, lanes), x, l.b.Like(x, 0))
}

func (l *evaluator) store(o *tile.Op, x *kernel.Value) {
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
func (l *evaluator) random(o *tile.Op) *kernel.Value {
	b := l.b
	first, step := l.affine(o.At[0])
	e := b.Value(first)
	for _, t := range o.At[0].Terms {
		if t.Value != nil {
			wide := b.Convert(l.value(t.Value), kernel.I64)
			e = plus(b, e, b.Mul(wide, b.ConstInt(wide.Type, t.Coef)))
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

// both is whether x, if there is one, and y hold; plus is their sum.
func both(b *kernel.Builder, x, y *kernel.Value) *kernel.Value { return joined(b, b.And, x, y) }
func plus(b *kernel.Builder, x, y *kernel.Value) *kernel.Value { return joined(b, b.Add, x, y) }

// joined is f of x and y with the lanes of the wider one, or y where there is no x.
func joined(b *kernel.Builder, f func(x, y *kernel.Value) *kernel.Value, x, y *kernel.Value) *kernel.Value {
	if x == nil {
		return y
	}
	lanes := max(x.Type.Lanes, y.Type.Lanes)
	return f(b.Splat(x, lanes), b.Splat(y, lanes))
}

// clamp is index j, kept within [0, n), and whether it was in range.
func clamp(b *kernel.Builder, j *kernel.Value, n int64) (*kernel.Value, *kernel.Value) {
	zero, top := b.ConstInt(j.Type, 0), b.ConstInt(j.Type, n-1)
	inside := b.And(b.Le(zero, j), b.Le(j, top))
	return b.Min(b.Max(j, zero), top), inside
}

// elementwise is o of its operands, which get the same number of lanes.
func (l *evaluator) elementwise(o *tile.Op) *kernel.Value {
	lanes := 1
	x := make([]*kernel.Value, len(o.Args))
	for i, a := range o.Args {
		x[i] = l.value(a)
		lanes = max(lanes, x[i].Type.Lanes)
	}
	for i := range x {
		x[i] = l.b.Splat(x[i], lanes)
	}
	return elementwise.Compute(l.b, o, x)
}
