package lower

import (
	"ptc/backend/cpu/attention"
	"ptc/backend/kernel"
	"ptc/backend/kernel/vmath"
	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/fusion"
)

// row computes what does not vary along the keys, and then body. Division by what is the
// same for a row, or for all, is multiplication: by the inverse of sums of exponentials,
// which are not far from 1, and of constants.
func (x *attending) row(at attention.At, body func()) {
	x.in(attention.Lanes{N: 1}, func() {
		x.place(at, false, nil, false)
		var work []*tile.Value
		for _, o := range x.Body {
			v := x.tile(o.Result())
			work = append(work, v)
			switch c, inverts := fusion.Inverse(o); {
			case o == x.Exp: // of scores that are not above what is taken off
				x.instead[v] = func() *kernel.Value { return vmath.ExpNormal(x.b, x.value(v.Def.Args[0])) }
			case o == x.Norm && x.Sum != nil:
				x.instead[v] = func() *kernel.Value { return x.value(x.tile(x.Exp.Result())) }
			case o == x.Norm:
				by := x.value(v.Def.Args[1])
				inverse := x.b.Div(x.b.Like(by, 1), by)
				x.instead[v] = func() *kernel.Value { return x.times(v.Def, inverse) }
			case inverts:
				inverse := x.b.F32(float32(c), 1)
				x.instead[v] = func() *kernel.Value { return x.times(v.Def, inverse) }
			}
		}
		x.fixed(work, map[*tile.Value]bool{})
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
		if d := x.dependence(v); !d.folded && !v.Type.Has(x.key) {
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

// body runs f at the vector of keys from at.Key on.
func (x *attending) body(at attention.At, l attention.Lanes, f func()) {
	x.in(l, func() {
		x.place(at, true, nil, false)
		if l.Sure {
			for i, m := range x.loops.Limits {
				x.know(x.program.Limits[i].Cond, x.b.ConstInt(kernel.Scalar(kernel.I1), holds(m.Source.Holds)))
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

// learn makes v known.
func (x *attending) learn(v *ir.Value, is *kernel.Value) { x.know(x.tile(v), is) }

func (x *attending) knowProducts(values []*kernel.Value) {
	for i, v := range values {
		x.learn(x.Into[i].Result(), v)
	}
}

func (x *attending) score(at attention.At, products []*kernel.Value, l attention.Lanes) (out *kernel.Value) {
	x.body(at, l, func() {
		x.knowProducts(products)
		out = x.value(x.tile(x.Scores))
	})
	return out
}

func (x *attending) base(top *kernel.Value) (out *kernel.Value) {
	x.within(func() {
		x.learn(x.Top.Result(), top)
		out = x.value(x.tile(x.Base))
	})
	return out
}

func (x *attending) weighted(at attention.At, values []*kernel.Value, base *kernel.Value, l attention.Lanes) (e *kernel.Value, w []*kernel.Value) {
	x.body(at, l, func() {
		if base != nil {
			n := len(values) - 1
			x.learn(x.Scores, values[n])
			x.learn(x.Base, base)
			values = values[:n]
		}
		x.knowProducts(values)
		e = x.value(x.tile(x.Exp.Result()))
		for _, v := range x.weights {
			w = append(w, x.value(v))
		}
	})
	return e, w
}

// statistics stores what is over the rows.
func (x *attending) statistics(_ attention.At, top, sum *kernel.Value, body func()) {
	x.within(func() {
		if top != nil {
			x.learn(x.Top.Result(), top)
		}
		if sum != nil {
			x.learn(x.Sum.Result(), sum)
		}
		x.storeMade(nil)
		body()
	})
}

// madeOf are the stores of results that are made of the product p, or of none where it is nil.
func (x *attending) madeOf(p *fusion.Out) (of []*tile.Op) {
	for i, o := range x.stores {
		if x.Made[i] == p {
			of = append(of, o)
		}
	}
	return of
}

func (x *attending) storeMade(p *fusion.Out) {
	for _, o := range x.madeOf(p) {
		x.store(o, x.value(o.Args[0]))
	}
}

// storeOut stores the results that are made of number i of Outs.
func (x *attending) storeOut(i int, at attention.At, acc *kernel.Value, l attention.Lanes) {
	p := x.Outs[i]
	x.in(l, func() {
		x.place(at, false, x.columns(p.Of), true)
		if p.Divided {
			acc = x.b.Div(acc, x.b.Splat(x.value(x.tile(x.Sum.Result())), l.N))
		}
		x.learn(p.Result(), acc)
		x.storeMade(p)
	})
}

// loadOut loads what storeOut has stored, if that is the product itself in f32.
func (x *attending) loadOut(p *fusion.Out) func(attention.At, attention.Lanes) *kernel.Value {
	of := x.madeOf(p)
	if len(of) != 1 || of[0].Args[0] != x.tile(p.Result()) || p.Result().Type.DType != ir.F32 {
		return nil
	}
	return func(a attention.At, l attention.Lanes) (out *kernel.Value) {
		x.in(l, func() {
			x.place(a, false, x.columns(p.Of), true)
			out = x.b.Splat(x.read(of[0]), l.N)
		})
		return out
	}
}
