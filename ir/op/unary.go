package op

import (
	"cmp"
	"math"
	"math/rand"

	"ptc/ir"
	"ptc/ir/tensor"
)

// The elementwise operations of one operand.
const (
	Abs     = "abs"
	Cos     = "cos"
	Detach  = "detach"
	Erf     = "erf"
	Exp     = "exp"
	Floor   = "floor"
	Log     = "log"
	Neg     = "neg"
	Not     = "not"
	Rsqrt   = "rsqrt"
	Sigmoid = "sigmoid"
	Sign    = "sign"
	Sin     = "sin"
	Sqrt    = "sqrt"
	Tanh    = "tanh"
)

// unary is what differs between the elementwise operations of one operand.
type unary struct {
	name, doc string
	word      string // in the language; the name where there is none
	kinds     kinds
	f         func(x float64) float64
	// grad is the operand's gradient from operand x, result y and the result's
	// gradient g; nil where the derivative is zero almost everywhere.
	grad  func(b *Builder, x, y, g *ir.Value) *ir.Value
	flops int64
	// Samples are drawn from ±[lo, hi], or from [lo, hi] where positive.
	lo, hi   float64
	positive bool
	linear   bool
	traits   Traits
}

func init() {
	for _, u := range unaries() {
		registerUnary(u)
	}
}

// unaries lists the rows. Derivatives reuse the result where that is cheaper
// or more accurate. Flops of transcendental functions count the arithmetic of
// a typical polynomial evaluation.
func unaries() []unary {
	return []unary{
		{name: Neg, word: "-", linear: true, traits: Involution, doc: "The negated operand.", kinds: numbers, flops: 1, lo: 0.1, hi: 3,
			f:    func(x float64) float64 { return -x },
			grad: func(b *Builder, x, y, g *ir.Value) *ir.Value { return b.Neg(g) }},
		{name: Abs, doc: "The absolute value; the gradient at 0 is 0.", kinds: numbers, f: math.Abs, flops: 1, lo: 0.1, hi: 3,
			grad: func(b *Builder, x, y, g *ir.Value) *ir.Value { return b.Mul(g, b.Emit(Sign, nil, x)) }},
		{name: Sign, doc: "-1, 0 or 1 by the operand's sign; NaN stays.", kinds: numbers, f: sign, flops: 1, lo: 0.1, hi: 3},
		{name: Floor, doc: "The largest integer not above the operand; zero gradient.", kinds: floats, f: math.Floor, flops: 1, lo: 0.1, hi: 3},
		{name: Exp, doc: "e to the operand.", kinds: floats, f: math.Exp, flops: 12, lo: 0.1, hi: 2,
			grad: func(b *Builder, x, y, g *ir.Value) *ir.Value { return b.Mul(g, y) }},
		{name: Log, doc: "The natural logarithm.", kinds: floats, f: math.Log, flops: 12, lo: 0.3, hi: 3, positive: true,
			grad: func(b *Builder, x, y, g *ir.Value) *ir.Value { return b.Div(g, x) }},
		{name: Sqrt, doc: "The square root.", kinds: floats, f: math.Sqrt, flops: 1, lo: 0.3, hi: 3, positive: true,
			grad: func(b *Builder, x, y, g *ir.Value) *ir.Value { return b.Div(b.Scale(g, 0.5), y) }},
		{name: Rsqrt, doc: "One over the square root.", kinds: floats, flops: 2, lo: 0.3, hi: 3, positive: true,
			f: func(x float64) float64 { return 1 / math.Sqrt(x) },
			// d x^(-1/2) = -1/2 x^(-3/2) = -1/2 y^3.
			grad: func(b *Builder, x, y, g *ir.Value) *ir.Value {
				return b.Mul(b.Scale(g, -0.5), b.Mul(b.Mul(y, y), y))
			}},
		{name: Tanh, doc: "The hyperbolic tangent.", kinds: floats, f: math.Tanh, flops: 16, lo: 0.1, hi: 2,
			// 1 - y² as a product: both factors are exact where y is near ±1.
			grad: func(b *Builder, x, y, g *ir.Value) *ir.Value {
				one := b.Like(y, 1)
				return b.Mul(g, b.Mul(b.Sub(one, y), b.Add(one, y)))
			}},
		{name: Erf, doc: "The error function.", kinds: floats, f: math.Erf, flops: 20, lo: 0.1, hi: 2,
			// d erf(x) = 2/sqrt(pi) exp(-x^2).
			grad: func(b *Builder, x, y, g *ir.Value) *ir.Value {
				e := b.Emit(Exp, nil, b.Neg(b.Mul(x, x)))
				return b.Mul(g, b.Scale(e, 2/math.Sqrt(math.Pi)))
			}},
		{name: Sigmoid, doc: "1 / (1 + exp(-x)).", kinds: floats, f: sigmoid, flops: 14, lo: 0.1, hi: 3,
			grad: func(b *Builder, x, y, g *ir.Value) *ir.Value {
				return b.Mul(g, b.Mul(y, b.Sub(b.Like(y, 1), y)))
			}},
		{name: Sin, doc: "The sine of radians.", kinds: floats, f: math.Sin, flops: 14, lo: 0.1, hi: 3,
			grad: func(b *Builder, x, y, g *ir.Value) *ir.Value { return b.Mul(g, b.Emit(Cos, nil, x)) }},
		{name: Cos, doc: "The cosine of radians.", kinds: floats, f: math.Cos, flops: 14, lo: 0.1, hi: 3,
			grad: func(b *Builder, x, y, g *ir.Value) *ir.Value { return b.Neg(b.Mul(g, b.Emit(Sin, nil, x))) }},
		{name: Not, traits: Involution, doc: "The logical negation.", kinds: bools, f: func(x float64) float64 { return 1 - x }},
		{name: Detach, word: "stop_gradient", doc: "The operand, with zero gradient.", kinds: anyType, f: func(x float64) float64 { return x }, lo: 0.1, hi: 3},
	}
}

func registerUnary(u unary) {
	d := &Def{
		Name: u.name, Doc: u.doc, Word: cmp.Or(u.word, u.name), Scalar: u.f, Class: Elementwise, MinArgs: 1, MaxArgs: 1, Linear: Linearity{All: u.linear}, Traits: u.traits,
		Infer: func(args []ir.Type, _ ir.Attrs) ([]ir.Type, error) {
			if err := wantKind(u.name, args[0], u.kinds); err != nil {
				return nil, err
			}
			return one(ir.Type{DType: args[0].DType, Axes: cloneAxes(args[0].Axes...)})
		},
		Shard: elemRule,
		Eval: func(_ *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
			f, t := u.f, o.Result().Type
			if t.DType.IsInt() {
				f = func(x float64) float64 { return wrap(u.f(x)) }
			}
			return results(map1(t, args[0], f))
		},
		Flops: flopsPer(u.flops),
		Sample: func(r *rand.Rand) Example {
			d := u.kinds.sample(r)
			value := draw(r, d, u.lo, u.hi)
			if u.positive {
				value = between(r, u.lo, u.hi)
			}
			return Example{Args: []*tensor.Tensor{filled(typed(d, sampleAxes(r, r.Intn(4))), value)}}
		},
	}
	if u.grad != nil {
		d.Grad = func(b *Builder, o *ir.Op, grads []*ir.Value) []*ir.Value {
			x := o.Args[0]
			if grads[0] == nil || !x.Type.DType.IsFloat() {
				return []*ir.Value{nil}
			}
			return []*ir.Value{u.grad(b, x, o.Result(), grads[0])}
		}
	}
	Register(d)
}

// wrap reduces an integer modulo 2^32 to an i32, as two's complement does.
func wrap(x float64) float64 { return float64(int32(int64(x))) }

func sign(x float64) float64 {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x // zero keeps its sign, NaN stays
}

// sigmoid avoids the overflow of exp for operands of either sign.
func sigmoid(x float64) float64 {
	if x >= 0 {
		return 1 / (1 + math.Exp(-x))
	}
	e := math.Exp(x)
	return e / (1 + e)
}
