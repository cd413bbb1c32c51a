package lower

import (
	"ptc/backend/cpu/attention"
	"ptc/backend/kernel"
	"ptc/backend/kernel/vmath"
	"ptc/backend/nest"
	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/op"
)

// row computes what does not vary along the keys, and then body. Division by what is the
// same for a row, or for all, is multiplication: by the inverse of sums of exponentials,
// which are not far from 1, and of constants.
func (x *attending) row(at attention.At, body func()) {
	x.in(attention.Lanes{N: 1}, func() {
		x.place(at, false, nil, false)
		for _, v := range x.Body {
			switch c, isConst := number(v.Def.Args, 1); {
			case v == x.Exp:
				x.instead[v] = func() *kernel.Value { return x.exp(v.Def) }
			case v == x.Norm && x.Sum != nil:
				x.instead[v] = func() *kernel.Value { return x.value(x.Exp) }
			case v == x.Norm:
				by := x.value(v.Def.Args[1])
				inverse := x.b.Div(x.b.Like(by, 1), by)
				x.instead[v] = func() *kernel.Value { return x.times(v.Def, inverse) }
			case v.Def.Kind == op.Div && isConst && v.Type.DType == ir.F32 && ordinary(c):
				inverse := x.b.F32(float32(1/c), 1)
				x.instead[v] = func() *kernel.Value { return x.times(v.Def, inverse) }
			}
		}
		x.fixed(x.Body, map[*tile.Value]bool{})
		body()
	})
}

// fixed computes what vs need that does not vary along the keys, and is not of scores.
func (x *attending) fixed(vs []*tile.Value, seen map[*tile.Value]bool) {
	for _, v := range vs {
		if seen[v] {
			continue
		}
		seen[v] = true
		if d := x.dependence(v); !d.folded && !v.Type.Has(x.Key) {
			x.value(v)
		} else if !d.folded || d.scores && v.Def.Kind != tile.Dot {
			x.fixed(operands(v), seen)
		}
	}
}

// times is o's first operand by a scalar.
func (x *attending) times(o *tile.Op, by *kernel.Value) *kernel.Value {
	v := x.value(o.Args[0])
	return x.b.Mul(v, x.b.Splat(by, v.Type.Lanes))
}

// ordinary reports whether c and its inverse are normal numbers.
func ordinary(c float64) bool {
	if c < 0 {
		c = -c
	}
	return c > 0x1p-100 && c < 0x1p100
}

// body runs f at the vector of keys from at.Key on.
func (x *attending) body(at attention.At, l attention.Lanes, f func()) {
	x.in(l, func() {
		x.place(at, true, nil, false)
		if l.Sure {
			for _, m := range x.limits {
				x.know(m.Cond, x.b.ConstInt(kernel.Scalar(kernel.I1), holds(m.Holds)))
			}
		}
		f()
	})
}

func holds(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// scored is what Exp takes Base off.
func (x *attending) scored() *tile.Value { return x.Exp.Def.Args[0].Def.Args[0] }

func (x *attending) knowProducts(values []*kernel.Value) {
	for i, v := range values {
		x.know(x.Into[i].Result, v)
	}
}

func (x *attending) score(at attention.At, products []*kernel.Value, l attention.Lanes) (out *kernel.Value) {
	x.body(at, l, func() {
		x.knowProducts(products)
		out = x.value(x.scored())
	})
	return out
}

func (x *attending) base(top *kernel.Value) (out *kernel.Value) {
	x.within(func() {
		x.know(x.Top, top)
		out = x.value(x.Base)
	})
	return out
}

func (x *attending) weighted(at attention.At, values []*kernel.Value, base *kernel.Value, l attention.Lanes) (e *kernel.Value, w []*kernel.Value) {
	x.body(at, l, func() {
		if base != nil {
			n := len(values) - 1
			x.know(x.scored(), values[n])
			x.know(x.Base, base)
			values = values[:n]
		}
		x.knowProducts(values)
		e = x.value(x.Exp)
		for _, v := range x.weights {
			w = append(w, x.value(v))
		}
	})
	return e, w
}

// exp is the exponential of scores that are not above what is taken off.
func (x *attending) exp(o *tile.Op) *kernel.Value {
	return vmath.ExpNormal(x.b, x.value(o.Args[0]))
}

// statistics stores what is over the rows.
func (x *attending) statistics(_ attention.At, top, sum *kernel.Value, body func()) {
	x.within(func() {
		if top != nil {
			x.know(x.Top, top)
		}
		if sum != nil {
			x.know(x.Sum, sum)
		}
		for _, o := range x.stores {
			if x.dependence(o.Args[0]).out == nil {
				x.store(o, x.value(o.Args[0]))
			}
		}
		body()
	})
}

// storeOut stores the results that are made of number i of Outs.
func (x *attending) storeOut(i int, at attention.At, acc *kernel.Value, l attention.Lanes) {
	p := x.Outs[i]
	x.in(l, func() {
		x.place(at, false, p.Cols, true)
		if x.Sum != nil && x.dependence(p.Weights).norm {
			acc = x.b.Div(acc, x.b.Splat(x.value(x.Sum), l.N))
		}
		x.know(p.Result, acc)
		for _, o := range x.stores {
			if x.dependence(o.Args[0]).out == p.Result {
				x.store(o, x.value(o.Args[0]))
			}
		}
	})
}

// loadOut loads what storeOut has stored, if that is the product itself in f32.
func (x *attending) loadOut(p nest.Out) func(attention.At, attention.Lanes) *kernel.Value {
	var of []*tile.Op
	for _, o := range x.stores {
		if x.dependence(o.Args[0]).out == p.Result {
			of = append(of, o)
		}
	}
	if len(of) != 1 || of[0].Args[0] != p.Result || p.Result.Type.DType != ir.F32 {
		return nil
	}
	return func(a attention.At, l attention.Lanes) (out *kernel.Value) {
		x.in(l, func() {
			x.place(a, false, p.Cols, true)
			out = x.b.Splat(x.read(of[0]), l.N)
		})
		return out
	}
}
