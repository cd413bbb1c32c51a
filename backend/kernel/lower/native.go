package lower

import (
	"math"

	"ptc/backend/kernel"
	"ptc/ir"
	"ptc/ir/op"
)

// native is what the row of an operation in ir/op cannot hold, because the IR knows
// nothing of kernels: how one becomes native code. Every operation that reaches a
// kernel has one of these; a test holds the table complete.
type native struct {
	// value computes the element at the present position.
	value func(g *gen, o *ir.Op) *kernel.Value
	// fold, of reductions, combines elements.
	fold *fold
	// root: it is the root of a kernel of a class of its own, which has the loops for it.
	root bool
	// gone: no kernel has it, because a pass replaces it.
	gone bool
}

// fold is one way to combine elements into one.
type fold struct {
	combine    func(b *kernel.Builder, x, y *kernel.Value) *kernel.Value
	horizontal func(b *kernel.Builder, x *kernel.Value) *kernel.Value // of all lanes
	identity   func(d ir.DType) float64                               // what it starts from
}

var natives map[string]native

func init() {
	root := native{root: true}
	byName := native{value: func(g *gen, o *ir.Op) *kernel.Value { return g.value(o.Args[0]) }}
	natives = map[string]native{
		op.Const:      {value: (*gen).constant},
		op.Index:      {value: (*gen).index},
		op.Coordinate: {value: func(g *gen, o *ir.Op) *kernel.Value { return g.coordinate(o.Attrs.Names("over")) }},
		op.Random:     {value: (*gen).random},
		op.Gather:     {value: (*gen).gather},

		op.Neg:     unary((*kernel.Builder).Neg),
		op.Abs:     unary((*kernel.Builder).Abs),
		op.Exp:     unary((*kernel.Builder).Exp),
		op.Log:     unary((*kernel.Builder).Log),
		op.Sqrt:    unary((*kernel.Builder).Sqrt),
		op.Rsqrt:   unary((*kernel.Builder).Rsqrt),
		op.Tanh:    unary((*kernel.Builder).Tanh),
		op.Erf:     unary((*kernel.Builder).Erf),
		op.Sigmoid: unary((*kernel.Builder).Sigmoid),
		op.Sin:     unary((*kernel.Builder).Sin),
		op.Cos:     unary((*kernel.Builder).Cos),
		op.Floor:   unary((*kernel.Builder).Floor),
		op.Not:     unary((*kernel.Builder).Not),
		op.Add:     binary((*kernel.Builder).Add),
		op.Sub:     binary((*kernel.Builder).Sub),
		op.Mul:     binary((*kernel.Builder).Mul),
		op.Div:     binary((*kernel.Builder).Div),
		op.Max:     binary((*kernel.Builder).Max),
		op.Min:     binary((*kernel.Builder).Min),
		op.Pow:     binary((*kernel.Builder).Pow),
		op.And:     binary((*kernel.Builder).And),
		op.Or:      binary((*kernel.Builder).Or),
		op.Lt:      binary((*kernel.Builder).Lt),
		op.Le:      binary((*kernel.Builder).Le),
		op.Gt:      binary((*kernel.Builder).Gt),
		op.Ge:      binary((*kernel.Builder).Ge),
		op.Detach:  lanewise(func(_ *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value { return x[0] }),
		op.Sign:    lanewise(sign),
		op.Cast:    lanewise(cast),
		op.Mod:     lanewise(mod),
		op.Eq:      lanewise(equal),
		op.Ne:      lanewise(unequal),
		op.Select:  lanewise(func(g *gen, _ *ir.Op, x []*kernel.Value) *kernel.Value { return g.b.Select(x[0], x[1], x[2]) }),

		op.Transpose: byName,
		op.Broadcast: byName,

		op.ReduceSum: {fold: &fold{(*kernel.Builder).Add, (*kernel.Builder).ReduceAdd, func(ir.DType) float64 { return 0 }}},
		op.ReduceMax: {fold: &fold{(*kernel.Builder).Max, (*kernel.Builder).ReduceMax, least}},

		op.Dot:        root,
		op.ScatterAdd: root,
		op.Concat:     root,
		op.Pad:        root,

		// Views of a buffer are where the loops begin, see fusion.Kernel.Views.
		op.Rename: root,
		op.Split:  root,
		op.Merge:  root,
		op.Slice:  root,

		op.Take: {gone: true},
	}
}

// least is what no number of d is below.
func least(d ir.DType) float64 {
	if d.IsFloat() {
		return math.Inf(-1)
	}
	lo, _ := d.Bounds()
	return lo
}
