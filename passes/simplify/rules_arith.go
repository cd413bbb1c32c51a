package simplify

import (
	"math"

	"ptc/ir"
	"ptc/ir/op"
)

func init() {
	register([]rule{
		{"add-zero", "x + 0 is x", []string{op.Add}, addZero},
		{"sub-zero", "x - 0 is x, 0 - x is -x", []string{op.Sub}, subZero},
		{"mul-one", "x * 1 is x, x * -1 is -x", []string{op.Mul}, mulOne},
		{"mul-zero", "x * 0 is 0 where x is finite", []string{op.Mul}, mulZero},
		{"mul-const", "(x * c) * d is x * (c * d)", []string{op.Mul}, mulConst},
		{"div-one", "x / 1 is x", []string{op.Div}, divOne},
		{"div-pow2", "x / 2^n is x * 2^-n, which rounds the same", []string{op.Div}, divPow2},
		{"neg-neg", "-(-x) is x, not not x is x", op.With(op.Involution), involution},
		{"neg-into", "x + -y is x - y, x - -y is x + y, -x * -y is x * y", []string{op.Add, op.Sub, op.Mul, op.Div}, negInto},
		{"abs-neg", "abs(-x) is abs(x)", []string{op.Abs}, absNeg},
		{"cast-same", "a cast to the dtype it has is nothing", []string{op.Cast}, castSame},
		{"cast-cast", "a cast of a lossless cast is one cast", []string{op.Cast}, castCast},
		{"select-const", "a condition known now chooses now", []string{op.Select}, selectConst},
		{"select-same", "both branches are the same value", []string{op.Select}, selectSame},
		{"pow-small", "x^0 is 1, x^1 is x, x^2 is x*x, x^3 is x*x*x, x^-1 is 1/x", []string{op.Pow}, powSmall},
		{"idempotent", "max, min, and, or of a value with itself", op.With(op.Idempotent), idempotent},
		{"bool-const", "and, or with a constant", []string{op.And, op.Or}, boolConst},
		{"detach", "nothing will be differentiated any more", []string{op.Detach}, dropDetach},
	})
}

// other returns, where exactly one operand is all c, the other one.
func other(o *ir.Op, c float64) *ir.Value {
	switch {
	case is(o.Args[1], c):
		return o.Args[0]
	case is(o.Args[0], c):
		return o.Args[1]
	}
	return nil
}

func (r *rewriter) keep(o *ir.Op, x *ir.Value) *ir.Value {
	if x == nil {
		return nil
	}
	return r.as(o, x, o.Results[0].Type)
}

func addZero(r *rewriter, o *ir.Op) *ir.Value { return r.keep(o, other(o, 0)) }

func subZero(r *rewriter, o *ir.Op) *ir.Value {
	if is(o.Args[1], 0) {
		return r.keep(o, o.Args[0])
	}
	if is(o.Args[0], 0) {
		return r.keep(o, r.emit(o, op.Neg, nil, o.Args[1]))
	}
	return nil
}

func mulOne(r *rewriter, o *ir.Op) *ir.Value {
	if x := other(o, 1); x != nil {
		return r.keep(o, x)
	}
	if x := other(o, -1); x != nil {
		return r.keep(o, r.emit(o, op.Neg, nil, x))
	}
	return nil
}

func mulZero(r *rewriter, o *ir.Op) *ir.Value {
	x := other(o, 0)
	if x == nil {
		return nil
	}
	if !finite(x) {
		return r.refuse(o, "the other factor may be infinite or NaN")
	}
	return r.keep(o, r.constant(o, x.Type.DType, 0))
}

// mulConst joins two constant factors unless their product leaves the normal
// range, where the order of multiplication matters.
func mulConst(r *rewriter, o *ir.Op) *ir.Value {
	for i, a := range o.Args {
		c, ok := splat(o.Args[1-i])
		if !ok || !from(a, op.Mul) || !a.Type.DType.IsFloat() {
			continue
		}
		for j, x := range a.Def.Args {
			d, ok := splat(a.Def.Args[1-j])
			if _, both := splat(x); !ok || both {
				continue
			}
			if r.uses[a] > 1 {
				return r.refuse(o, readByOthers)
			}
			if !normal(c) || !normal(d) || !normal(c*d) {
				return r.refuse(o, "%g * %g may leave the normal range", c, d)
			}
			return r.keep(o, r.emit(o, op.Mul, nil, x, r.constant(o, x.Type.DType, c*d)))
		}
	}
	return nil
}

// normal reports whether c is well inside the normal range of every float
// dtype but f16.
func normal(c float64) bool {
	a := math.Abs(c)
	return a > 1e-30 && a < 1e30
}

func divOne(r *rewriter, o *ir.Op) *ir.Value {
	if is(o.Args[1], 1) {
		return r.keep(o, o.Args[0])
	}
	return nil
}

func divPow2(r *rewriter, o *ir.Op) *ir.Value {
	c, ok := splat(o.Args[1])
	if !ok || !o.Args[0].Type.DType.IsFloat() {
		return nil
	}
	// Up to 2^14 the reciprocal is a normal number even in f16.
	if frac, exp := math.Frexp(math.Abs(c)); frac != 0.5 || exp < -13 || exp > 15 {
		return r.refuse(o, "%g is no power of two from 2^-14 to 2^14, and its inverse would round", c)
	}
	return r.keep(o, r.emit(o, op.Mul, nil, o.Args[0], r.constant(o, o.Args[0].Type.DType, 1/c)))
}

func involution(r *rewriter, o *ir.Op) *ir.Value {
	if from(o.Args[0], o.Name) {
		return o.Args[0].Def.Args[0]
	}
	return nil
}

func negInto(r *rewriter, o *ir.Op) *ir.Value {
	x, y := o.Args[0], o.Args[1]
	nx, ny := from(x, op.Neg), from(y, op.Neg)
	switch {
	case o.Name == op.Div && !x.Type.DType.IsFloat():
		if nx && ny {
			return r.refuse(o, "the least integer has no negative")
		}
	case (o.Name == op.Mul || o.Name == op.Div) && nx && ny:
		return r.keep(o, r.emit(o, o.Name, nil, x.Def.Args[0], y.Def.Args[0]))
	case o.Name == op.Add && ny:
		return r.keep(o, r.emit(o, op.Sub, nil, x, y.Def.Args[0]))
	case o.Name == op.Add && nx:
		return r.keep(o, r.emit(o, op.Sub, nil, y, x.Def.Args[0]))
	case o.Name == op.Sub && ny:
		return r.keep(o, r.emit(o, op.Add, nil, x, y.Def.Args[0]))
	}
	return nil
}

func absNeg(r *rewriter, o *ir.Op) *ir.Value {
	if from(o.Args[0], op.Neg) {
		return r.emit(o, op.Abs, nil, o.Args[0].Def.Args[0])
	}
	return nil
}

func castSame(_ *rewriter, o *ir.Op) *ir.Value {
	if o.Args[0].Type.DType == o.Results[0].Type.DType {
		return o.Args[0]
	}
	return nil
}

func castCast(r *rewriter, o *ir.Op) *ir.Value {
	mid := o.Args[0]
	if !from(mid, op.Cast) {
		return nil
	}
	if x := mid.Def.Args[0].Type.DType; !x.Within(mid.Type.DType) {
		return r.refuse(o, "the inner cast, of %s to %s, rounds", x, mid.Type.DType)
	}
	return r.emit(o, op.Cast, o.Attrs, mid.Def.Args[0])
}

func selectConst(r *rewriter, o *ir.Op) *ir.Value {
	c, ok := splat(o.Args[0])
	switch {
	case !ok:
		return nil
	case c != 0:
		return r.keep(o, o.Args[1])
	}
	return r.keep(o, o.Args[2])
}

func selectSame(r *rewriter, o *ir.Op) *ir.Value {
	if o.Args[1] == o.Args[2] {
		return r.keep(o, o.Args[1])
	}
	return nil
}

func powSmall(r *rewriter, o *ir.Op) *ir.Value {
	x := o.Args[0]
	n, ok := splat(o.Args[1])
	if !ok {
		return nil
	}
	switch n {
	case 0:
		return r.keep(o, r.constant(o, x.Type.DType, 1))
	case 1:
		return r.keep(o, x)
	case 2:
		return r.keep(o, r.emit(o, op.Mul, nil, x, x))
	case 3:
		return r.keep(o, r.emit(o, op.Mul, nil, r.emit(o, op.Mul, nil, x, x), x))
	case -1:
		return r.keep(o, r.emit(o, op.Div, nil, r.constant(o, x.Type.DType, 1), x))
	}
	return nil
}

func idempotent(r *rewriter, o *ir.Op) *ir.Value {
	if o.Args[0] == o.Args[1] {
		return o.Args[0]
	}
	return nil
}

func boolConst(r *rewriter, o *ir.Op) *ir.Value {
	neutral := 0.0
	if o.Name == op.And {
		neutral = 1
	}
	if x := other(o, neutral); x != nil {
		return r.keep(o, x)
	}
	if x := other(o, 1-neutral); x != nil {
		return r.keep(o, r.constant(o, ir.Bool, 1-neutral))
	}
	return nil
}

func dropDetach(r *rewriter, o *ir.Op) *ir.Value {
	if r.symbolic {
		return r.refuse(o, "a gradient is still to be taken")
	}
	return o.Args[0]
}
