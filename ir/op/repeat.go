package op

import (
	"math/rand"

	"ptc/ir"
	"ptc/ir/tensor"
)

// The ends of a run, see [ir.Stack], and of turns, see [ir.Task]. Of one instance or
// microbatch they are identities, and that is what their rows say.

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
	Register(&Def{
		Name: EnterTurn, Doc: "In a task: what the turn before gave to `leave_turn`. In the first turn there is nothing, and what reads it is its other operand.",
		Class: Boundary, Attrs: typeAttrs,
		Infer: func(_ []ir.Type, attrs ir.Attrs) ([]ir.Type, error) { return typeOf(attrs) },
		Shard: replicated, State: asNoted, Flops: noFlops,
		Eval: func(_ *Context, o *ir.Op, _ []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return results(tensor.New(o.Result().Type)) // nothing has been added up
		},
		Localize: func(o *ir.Op, _ []ir.Type) ir.Attrs { return o.Attrs }, // made with local sizes
		Sample: func(*rand.Rand) Example {
			return Example{Attrs: ir.A("dtype", ir.Name("f32"), "axes", ir.Sizes{{Name: "a", N: 2}})}
		},
	})
	Register(&Def{
		Name: LeaveTurn, Doc: "In a task: the second operand, to the `enter_turn` of the next turn, which is the first operand; of the last turn it is the result, which is there once.",
		Class: Boundary, MinArgs: 2, MaxArgs: 2,
		Infer: func(args []ir.Type, _ ir.Attrs) ([]ir.Type, error) {
			if !args[0].SameShape(args[1]) {
				return nil, &ShapeError{Msg: "what leaves a turn has type " + args[1].String(), Want: args[0].String() + ", as it enters the next one"}
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
	for _, name := range []string{Accumulate, AccumulateMax} {
		Register(&Def{
			Name: name, Doc: "The " + map[string]string{Accumulate: "sum", AccumulateMax: "maximum"}[name] + " of the operands of all microbatches, in the order in which they are made; it is there once.",
			Class: Boundary, MinArgs: 1, MaxArgs: 1,
			Infer: func(args []ir.Type, _ ir.Attrs) ([]ir.Type, error) { return one(sameType(args[0])) },
			Grad:  func(_ *Builder, _ *ir.Op, g []*ir.Value) []*ir.Value { return g },
			Shard: elemRule, Linear: Linearity{All: name == Accumulate},
			Eval: func(_ *Context, _ *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
				return results(args[0].Clone())
			},
			Flops: func(o *ir.Op) int64 { return int64(o.Args[0].Type.Elems()) },
			Sample: func(r *rand.Rand) Example {
				return Example{Args: []*tensor.Tensor{anyTensor(r, ir.F32, r.Intn(4))}}
			},
		})
	}
}

func sameType(t ir.Type) ir.Type { return ir.Type{DType: t.DType, Axes: cloneAxes(t.Axes...)} }
