package op

import (
	"math/rand"

	"ptc/ir"
	"ptc/ir/tensor"
)

// The ends of a run: see [ir.Stack]. Of one instance they are identities, and that
// is what their rows say.

func init() {
	Register(&Def{
		Name: Enter, Doc: "At the head of a run: the operand for the first instance, and for every other one what the instance before gave to `leave`.",
		Class: Boundary, MinArgs: 1, MaxArgs: 1,
		Infer: func(args []ir.Type, _ ir.Attrs) ([]ir.Type, error) { return one(sameType(args[0])) },
		Grad:  func(_ *Builder, _ *ir.Op, g []*ir.Value) []*ir.Value { return g },
		Shard: elemRule, Linear: Linearity{All: true},
		Eval: func(_ *Context, _ *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return results(args[0].Clone())
		},
		Flops: noFlops,
		Sample: func(r *rand.Rand) Example {
			return Example{Args: []*tensor.Tensor{anyTensor(r, ir.F32, r.Intn(4))}}
		},
	})
	Register(&Def{
		Name: Leave, Doc: "At the end of a run: the second operand, to the `enter` of the next instance, which is the first operand; of the last instance it is the result, outside.",
		Class: Boundary, MinArgs: 2, MaxArgs: 2,
		Infer: func(args []ir.Type, _ ir.Attrs) ([]ir.Type, error) {
			if !args[0].SameShape(args[1]) {
				return nil, &ShapeError{Msg: "what leaves an instance has type " + args[1].String(), Want: args[0].String() + ", as it enters the next one"}
			}
			return one(sameType(args[1]))
		},
		Grad:  func(_ *Builder, _ *ir.Op, g []*ir.Value) []*ir.Value { return []*ir.Value{nil, g[0]} },
		Shard: elemRule, Linear: Linearity{All: true},
		Eval: func(_ *Context, _ *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return results(args[1].Clone())
		},
		Flops: noFlops,
		Sample: func(r *rand.Rand) Example {
			x := anyTensor(r, ir.F32, r.Intn(4))
			return Example{Args: []*tensor.Tensor{x, filled(x.Type, draw(r, ir.F32, 0.1, 2))}}
		},
	})
}

func sameType(t ir.Type) ir.Type { return ir.Type{DType: t.DType, Axes: cloneAxes(t.Axes...)} }
