package lower

import (
	"ptc/backend/kernel"
	"ptc/backend/kernel/attention"
	"ptc/backend/kernel/vmath"
	"ptc/ir"
	"ptc/ir/op"
)

// row computes what does not vary along the keys, and then body. Division by what is the
// same for a row, or for all, is multiplication: by the inverse of sums of exponentials,
// which are not far from 1, and of constants.
func (x *attending) row(at attention.At, body func()) {
	x.in(at, attention.Lanes{N: 1}, func() {
		x.place(at, false, nil, false)
		for _, o := range x.Body {
			o := o
			switch c, isConst := number(o.Args, 1); {
			case o == x.Exp:
				x.loads[o.Result()] = func() *kernel.Value { return x.exp(o) }
			case o == x.Norm && x.Sum != nil:
				x.loads[o.Result()] = func() *kernel.Value { return x.value(x.Exp.Result()) }
			case o == x.Norm:
				by := x.value(o.Args[1])
				inverse := x.b.Div(x.b.Like(by, 1), by)
				x.loads[o.Result()] = func() *kernel.Value { return x.times(o, inverse) }
			case o.Name == op.Div && isConst && o.Result().Type.DType == ir.F32 && ordinary(c):
				inverse := x.b.F32(float32(1/c), 1)
				x.loads[o.Result()] = func() *kernel.Value { return x.times(o, inverse) }
			}
		}
		x.hoist(x.Body)([]dim{x.key})
		body()
	})
}

// times is o's first operand by a scalar.
func (x *attending) times(o *ir.Op, by *kernel.Value) *kernel.Value {
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
	x.in(at, l, func() {
		x.place(at, true, nil, false)
		if l.Sure {
			for _, m := range x.limits {
				x.know(m.cond, x.b.ConstInt(kernel.Scalar(kernel.I1), holds(m.when)))
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
func (x *attending) scored() *ir.Value { return x.Exp.Args[0].Def.Args[0] }

func (x *attending) knowProducts(values []*kernel.Value) {
	for i, v := range values {
		x.know(x.Into[i].Result(), v)
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
		x.know(x.Top.Result(), top)
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
		e = x.value(x.Exp.Result())
		for _, v := range x.weights {
			w = append(w, x.value(v))
		}
	})
	return e, w
}

// exp is the exponential of scores that are not above what is taken off.
func (x *attending) exp(o *ir.Op) *kernel.Value {
	return vmath.ExpNormal(x.b, x.value(o.Args[0]))
}

// known stores what is over the rows.
func (x *attending) known(_ attention.At, top, sum *kernel.Value, body func()) {
	x.within(func() {
		if top != nil {
			x.know(x.Top.Result(), top)
		}
		if sum != nil {
			x.know(x.Sum.Result(), sum)
		}
		for i, r := range x.gen.k.F.Results {
			if x.dependence(r.Value).out == nil {
				x.store(i, x.value(r.Value))
			}
		}
		body()
	})
}

// storeOut stores the results that are made of number i of Outs.
func (x *attending) storeOut(i int, at attention.At, acc *kernel.Value, l attention.Lanes) {
	o := x.Outs[i]
	x.in(at, l, func() {
		x.place(at, false, x.cols[i], true)
		weights := x.weights[x.spec.Outs[i].Weights]
		if x.Sum != nil && x.dependence(weights).norm {
			acc = x.b.Div(acc, x.b.Splat(x.value(x.Sum.Result()), l.N))
		}
		x.know(o.Result(), acc)
		for j, r := range x.gen.k.F.Results {
			if x.dependence(r.Value).out == o {
				x.store(j, x.value(r.Value))
			}
		}
	})
}

// loadOut loads what storeOut has stored, if that is the product itself in f32.
func (x *attending) loadOut(o *ir.Op, cols []dim) func(attention.At, attention.Lanes) *kernel.Value {
	at := -1
	for i, r := range x.gen.k.F.Results {
		switch {
		case x.dependence(r.Value).out != o:
		case r.Value != o.Result() || r.Value.Type.DType != ir.F32 || at >= 0:
			return nil
		default:
			at = i
		}
	}
	if at < 0 {
		return nil
	}
	return func(a attention.At, l attention.Lanes) (out *kernel.Value) {
		x.in(a, l, func() {
			x.place(a, false, cols, true)
			out = x.b.Splat(x.load(x.results[at], op.Dense(o.Result().Type)), l.N)
		})
		return out
	}
}
