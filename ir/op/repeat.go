package op

import (
	"math/rand"

	"ptc/ir"
	"ptc/ir/tensor"
)

// The ends of a run, see [ir.Stack], and of ticks, see [ir.Task]. Of one instance or
// microbatch they are identities, and that is what their rows say.

func init() {
	enters(Enter, "At the head of a run: the operand for the first instance, and for every other one what the instance before gave to `leave`.", true, noFlops)
	leaves(Leave, "an instance", "At the end of a run: the second operand, to the `enter` of the next instance, which is the first operand; of the last instance it is the result, outside.")
	leaves(LeaveTick, "a tick", "In a task: passes the second operand to the `enter_tick` of the next tick, which is the first operand; in the last tick it is the result, which exists once.")
	each := func(o *ir.Op) int64 { return int64(o.Args[0].Type.Elems()) }
	enters(Accumulate, "The sum of the operands of all microbatches, in the order in which they are made; it is there once.", true, each)
	enters(AccumulateMax, "The maximum of the operands of all microbatches; it is there once.", false, each)
	Register(&Def{
		Name: EnterTick, Doc: "In a task: the value that the previous tick passed to `leave_tick`. In the first tick nothing enters, and the sum that reads it is its other operand.",
		Class: Boundary, Attrs: typeAttrs,
		Infer: func(_ []ir.Type, attrs ir.Attrs) ([]ir.Type, error) { return only(typeOf(attrs)) },
		Shard: replicated, State: asNoted, Flops: noFlops,
		Eval: func(_ *Context, o *ir.Op, _ []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return results(tensor.New(o.Result().Type)) // nothing has been added up
		},
		Localize: func(o *ir.Op, _ []ir.Type) ir.Attrs { return o.Attrs }, // made with local sizes
		Sample: func(*rand.Rand) Example {
			return Example{Attrs: ir.A("dtype", ir.Name("f32"), "axes", ir.Sizes{{Name: "a", N: 2}})}
		},
	})
}

// enters registers an operation that gives its operand.
func enters(name, doc string, linear bool, flops func(*ir.Op) int64) {
	Register(&Def{
		Name: name, Doc: doc,
		Class: Boundary, MinArgs: 1, MaxArgs: 1,
		Infer: func(args []ir.Type, _ ir.Attrs) ([]ir.Type, error) { return one(sameType(args[0])) },
		Grad:  func(_ *Builder, _ *ir.Op, g []*ir.Value) []*ir.Value { return g },
		Shard: elemRule, Linear: Linearity{All: linear},
		Eval: func(_ *Context, _ *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return results(args[0].Clone())
		},
		Flops: flops,
		Sample: func(r *rand.Rand) Example {
			return Example{Args: []*tensor.Tensor{anyTensor(r, ir.F32, r.Intn(4))}}
		},
	})
}

// leaves registers an operation that gives its second operand, of the type of the first,
// which entered what it leaves.
func leaves(name, what, doc string) {
	Register(&Def{
		Name: name, Doc: doc,
		Class: Boundary, MinArgs: 2, MaxArgs: 2,
		Infer: func(args []ir.Type, _ ir.Attrs) ([]ir.Type, error) {
			if !args[0].SameShape(args[1]) {
				return nil, &ShapeError{Msg: "what leaves " + what + " has type " + args[1].String(), Want: args[0].String() + ", as it enters the next one"}
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
