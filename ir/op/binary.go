package op

import (
	"cmp"
	"math"
	"math/rand"

	"ptc/ir"
	"ptc/ir/tensor"
)

// The elementwise operations of two operands.
const (
	Add = "add"
	And = "and"
	Div = "div"
	Eq  = "eq"
	Ge  = "ge"
	Gt  = "gt"
	Le  = "le"
	Lt  = "lt"
	Max = "max"
	Min = "min"
	Mod = "mod"
	Mul = "mul"
	Ne  = "ne"
	Or  = "or"
	Pow = "pow"
	Sub = "sub"
)

// binary is what differs between the elementwise operations of two operands.
type binary struct {
	name, doc string
	word      string // in the language; the name where there is none
	kinds     kinds
	f         func(x, y float64) float64
	// i computes on i32 with wraparound; nil where f is exact for i32.
	i func(x, y int32) int32
	// grad is the gradients for both operands in the result's axes, before
	// they are summed to the operands' axes; nil where there is none.
	grad   func(b *Builder, x, y, r, g *ir.Value) (gx, gy *ir.Value)
	flops  int64
	linear Linearity
	traits Traits
	// sample draws operands where they need care: away from kinks and poles,
	// with ties for comparisons. Nil draws from ±[0.1, 2].
	sample func(r *rand.Rand) (x, y func() float64)
}

func init() {
	for _, e := range arithmetic() {
		registerBinary(e)
	}
	for _, e := range predicates() {
		registerBinary(e)
	}
}

// arithmetic lists the rows whose result has the operands' dtype. Integer
// arithmetic wraps; an integer divided by zero is 0, and so is its remainder.
func arithmetic() []binary {
	return []binary{
		{name: Add, word: "+", traits: Commutes, linear: Linearity{All: true}, flops: 1, doc: "The sum.", kinds: numbers,
			f:    func(x, y float64) float64 { return x + y },
			i:    func(x, y int32) int32 { return x + y },
			grad: func(b *Builder, x, y, r, g *ir.Value) (*ir.Value, *ir.Value) { return g, g }},
		{name: Sub, word: "-", linear: Linearity{All: true}, flops: 1, doc: "The difference.", kinds: numbers,
			f:    func(x, y float64) float64 { return x - y },
			i:    func(x, y int32) int32 { return x - y },
			grad: func(b *Builder, x, y, r, g *ir.Value) (*ir.Value, *ir.Value) { return g, b.Neg(g) }},
		{name: Mul, word: "*", traits: Commutes, linear: Linearity{In: [][]int{{0}, {1}}}, flops: 1, doc: "The product.", kinds: numbers,
			f:    func(x, y float64) float64 { return x * y },
			i:    func(x, y int32) int32 { return x * y },
			grad: func(b *Builder, x, y, r, g *ir.Value) (*ir.Value, *ir.Value) { return b.Mul(g, y), b.Mul(g, x) }},
		{name: Div, word: "/", linear: Linearity{In: [][]int{{0}}}, flops: 1, sample: func(r *rand.Rand) (x, y func() float64) { return away(r, 0.1, 2), away(r, 0.3, 3) }, doc: "The quotient; of i32, truncated toward zero.", kinds: numbers,
			f: func(x, y float64) float64 { return x / y }, i: divInt,
			// d(x/y) = dx/y - (x/y) dy/y.
			grad: func(b *Builder, x, y, r, g *ir.Value) (*ir.Value, *ir.Value) {
				gx := b.Div(g, y)
				return gx, b.Neg(b.Mul(gx, r))
			}},
		{name: Max, traits: Commutes | Idempotent, flops: 1, sample: interleaved, doc: "The larger operand, NaN if either is, 0 of 0 and -0; operands that tie share the gradient equally, a NaN has none.", kinds: numbers,
			f: func(x, y float64) float64 { return max(x, y) },
			grad: func(b *Builder, x, y, r, g *ir.Value) (*ir.Value, *ir.Value) {
				return contest(b, Gt, x, y, g), contest(b, Gt, y, x, g)
			}},
		{name: Min, traits: Commutes | Idempotent, flops: 1, sample: interleaved, doc: "The smaller operand, NaN if either is, -0 of 0 and -0; operands that tie share the gradient equally, a NaN has none.", kinds: numbers,
			f: func(x, y float64) float64 { return min(x, y) },
			grad: func(b *Builder, x, y, r, g *ir.Value) (*ir.Value, *ir.Value) {
				return contest(b, Lt, x, y, g), contest(b, Lt, y, x, g)
			}},
		{name: Pow, word: "**", doc: "The first operand to the second; to the power of 0 it is 1, with no gradient of the base. The exponent's gradient is 0 where the base is 0 and the exponent is not negative, NaN where the base is negative.", kinds: floats, f: math.Pow, grad: powGrad, flops: 30,
			sample: func(r *rand.Rand) (x, y func() float64) { return between(r, 0.3, 3), away(r, 0.1, 2) }},
		{name: Mod, word: "%", flops: 3,
			sample: func(r *rand.Rand) (x, y func() float64) { return away(r, 3.2, 3.9), away(r, 2, 3) }, doc: "The remainder of the truncated quotient, exact, with the sign of the first operand.", kinds: numbers, f: math.Mod, i: modInt,
			// r = x - q y with q = trunc(x/y), constant almost everywhere; the
			// quotient (x-r)/y is q exactly up to one rounding.
			grad: func(b *Builder, x, y, r, g *ir.Value) (*ir.Value, *ir.Value) {
				return g, b.Neg(b.Mul(g, b.Div(b.Sub(x, r), y)))
			}},
	}
}

// predicates lists the rows whose result is bool; comparisons with NaN are
// false but for ne.
func predicates() []binary {
	return []binary{
		{name: Eq, word: "==", traits: Commutes, flops: 1, sample: ties, doc: "Whether the operands are equal.", kinds: anyType, f: func(x, y float64) float64 { return truth(x == y) }},
		{name: Ne, word: "!=", traits: Commutes, flops: 1, sample: ties, doc: "Whether the operands differ.", kinds: anyType, f: func(x, y float64) float64 { return truth(x != y) }},
		{name: Lt, word: "<", flops: 1, sample: ties, doc: "Whether the first is less.", kinds: numbers, f: func(x, y float64) float64 { return truth(x < y) }},
		{name: Le, word: "<=", flops: 1, sample: ties, doc: "Whether the first is less or equal.", kinds: numbers, f: func(x, y float64) float64 { return truth(x <= y) }},
		{name: Gt, word: ">", flops: 1, sample: ties, doc: "Whether the first is greater.", kinds: numbers, f: func(x, y float64) float64 { return truth(x > y) }},
		{name: Ge, word: ">=", flops: 1, sample: ties, doc: "Whether the first is greater or equal.", kinds: numbers, f: func(x, y float64) float64 { return truth(x >= y) }},
		{name: And, traits: Commutes | Idempotent, doc: "The logical conjunction.", kinds: bools, f: func(x, y float64) float64 { return truth(x != 0 && y != 0) }},
		{name: Or, traits: Commutes | Idempotent, doc: "The logical disjunction.", kinds: bools, f: func(x, y float64) float64 { return truth(x != 0 || y != 0) }},
	}
}

func registerBinary(e binary) {
	predicate := e.grad == nil
	d := &Def{
		Name: e.name, Doc: e.doc, Word: cmp.Or(e.word, e.name), Class: Elementwise, MinArgs: 2, MaxArgs: 2, Linear: e.linear, Traits: e.traits,
		Infer: func(args []ir.Type, _ ir.Attrs) ([]ir.Type, error) {
			dt, err := sameDType(args)
			if err != nil {
				return nil, err
			}
			if err := wantKind(e.name, args[0], e.kinds); err != nil {
				return nil, err
			}
			axes, err := align(args)
			if err != nil {
				return nil, err
			}
			if predicate {
				dt = ir.Bool
			}
			return one(ir.Type{DType: dt, Axes: axes})
		},
		Shard: elemRule,
		Eval: func(_ *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
			t := o.Result().Type
			f := e.f
			if t.DType.IsInt() && e.i != nil {
				f = func(x, y float64) float64 { return float64(e.i(int32(x), int32(y))) }
			}
			return results(map2(t, args[0], args[1], f))
		},
		Flops:  flopsPer(e.flops),
		Sample: e.example,
	}
	if e.grad != nil {
		d.Grad = func(b *Builder, o *ir.Op, grads []*ir.Value) []*ir.Value {
			x, y := o.Args[0], o.Args[1]
			if grads[0] == nil || !x.Type.DType.IsFloat() {
				return []*ir.Value{nil, nil}
			}
			gx, gy := e.grad(b, x, y, o.Result(), grads[0])
			return []*ir.Value{b.Unbroadcast(gx, x.Type), b.Unbroadcast(gy, y.Type)}
		}
	}
	Register(d)
}

// example draws operands whose axes overlap at random.
func (e binary) example(r *rand.Rand) Example {
	d := e.kinds.sample(r)
	x, y := draw(r, d, 0.1, 2), draw(r, d, 0.1, 2)
	if d.IsFloat() && e.sample != nil {
		x, y = e.sample(r)
	}
	ax, ay := alignedPair(r)
	return Example{Args: []*tensor.Tensor{filled(typed(d, ax), x), filled(typed(d, ay), y)}}
}

// interleaved draws x and y from two grids that never meet: 0.2 apart, y
// between the points of x.
func interleaved(r *rand.Rand) (x, y func() float64) {
	at := whole(r, -9, 9)
	return func() float64 { return 0.2 * at() }, func() float64 { return 0.2*at() + 0.1 }
}

// ties draws from few values, so that equal ones are common.
func ties(r *rand.Rand) (x, y func() float64) {
	at := whole(r, -2, 2)
	return func() float64 { return 0.5 * at() }, func() float64 { return 0.5 * at() }
}

// route gives g to the first operand where first holds, else to the second.
func route(b *Builder, first, g *ir.Value) (gx, gy *ir.Value) {
	zero := b.Like(g, 0)
	return b.Select(first, g, zero), b.Select(first, zero, g)
}

// contest gives x, an operand of max or min, all of g where it wins over y, half
// of it where both are equal, and none where it loses or either is NaN.
func contest(b *Builder, wins string, x, y, g *ir.Value) *ir.Value {
	tie := b.Select(b.Emit("eq", nil, x, y), b.Scale(g, 0.5), b.Like(g, 0))
	return b.Select(b.Emit(wins, nil, x, y), g, tie)
}

// powGrad: d x^y = y x^(y-1) dx + x^y log(x) dy. Two limits that the formula
// misses: x^0 is 1 for every x, and 0^y is 0 for every positive y.
func powGrad(b *Builder, x, y, r, g *ir.Value) (gx, gy *ir.Value) {
	zero, one := b.Like(x, 0), b.Like(x, 1)
	gx = b.Mul(g, b.Mul(y, b.Emit("pow", nil, x, b.Sub(y, one))))
	gx = b.Select(b.Emit("eq", nil, y, zero), zero, gx)
	// Of 1 the logarithm is 0.
	constant := b.Emit("and", nil, b.Emit("eq", nil, x, zero), b.Emit("ge", nil, y, zero))
	gy = b.Mul(g, b.Mul(r, b.Emit("log", nil, b.Select(constant, one, x))))
	return gx, gy
}

func truth(v bool) float64 {
	if v {
		return 1
	}
	return 0
}

func divInt(x, y int32) int32 {
	if y == 0 {
		return 0
	}
	return x / y // Go wraps the least integer over -1
}

func modInt(x, y int32) int32 {
	if y == 0 {
		return 0
	}
	return x % y
}
