package op

import (
	"errors"
	"fmt"
	"math/rand"

	"ptc/ir"
	"ptc/ir/tensor"
)

// Operations that stand for others: grad until autodiff, call for a function.

func init() {
	Register(&Def{
		Name: "grad", Doc: "The gradients of the scalar first operand with respect to the others; expanded by autodiff.",
		Class: Symbolic, MinArgs: 2, MaxArgs: -1,
		Infer: func(args []ir.Type, _ ir.Attrs) ([]ir.Type, error) {
			if args[0].Rank() != 0 || !args[0].DType.IsFloat() {
				return nil, &ShapeError{Msg: fmt.Sprintf("the gradient of %s", args[0]), Want: "a float scalar"}
			}
			var out []ir.Type
			for _, p := range args[1:] {
				if err := wantKind("grad", p, floats); err != nil {
					return nil, err
				}
				out = append(out, ir.Type{DType: p.DType, Axes: cloneAxes(p.Axes...)})
			}
			return out, nil
		},
		Shard: replicated,
		Eval: func(c *Context, o *ir.Op, _ []*tensor.Tensor) ([]*tensor.Tensor, error) {
			if c.Grad == nil {
				return nil, errors.New("op: grad is evaluated only within a function")
			}
			return c.Grad(o)
		},
		Flops: noFlops, Sample: sampleGrad,
	})
	Register(&Def{
		Name: "call", Doc: "The results of a function of the module, its callee. Its types are the function's: Infer gives none; see Builder.Call.",
		Class: Control, MaxArgs: -1, Traits: Calls,
		Infer: func([]ir.Type, ir.Attrs) ([]ir.Type, error) { return nil, nil },
		Shard: replicated,
		Eval: func(c *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
			if c.Call == nil {
				return nil, errors.New("op: call is evaluated only within a module")
			}
			return c.Call(o.Callee, args)
		},
		Flops: noFlops,
		Sample: func(r *rand.Rand) Example {
			return Example{Args: []*tensor.Tensor{anyTensor(r, ir.F32, 0)}}
		},
	})
}

// Call emits a call of fn, whose arguments have the types of args.
func (b *Builder) Call(fn *ir.Func, args ...*ir.Value) []*ir.Value {
	var types []ir.Type
	for _, r := range fn.Results {
		types = append(types, r.Value.Type.Clone())
	}
	o := b.F.NewOp("call", args, nil, types...)
	o.Callee = fn
	return b.append(o)
}

func init() {
	Register(&Def{
		Name: "reshard", Doc: "The operand, placed on the devices as the result's type says; `why` names the rule. It exists at Sharded alone.",
		Class: Placement, MinArgs: 1, MaxArgs: 1,
		Attrs: []AttrSpec{{"why", ir.Str(""), false}},
		Infer: func(args []ir.Type, _ ir.Attrs) ([]ir.Type, error) {
			return one(ir.Type{DType: args[0].DType, Axes: cloneAxes(args[0].Axes...)})
		},
		Shard: elemRule, State: asNoted, Traits: SameValue,
		Eval: func(_ *Context, _ *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return results(args[0].Clone())
		},
		Flops: noFlops,
		Sample: func(r *rand.Rand) Example {
			return Example{Args: []*tensor.Tensor{anyTensor(r, ir.F32, r.Intn(4))}}
		},
	})
}

func sampleGrad(r *rand.Rand) Example {
	e := Example{Args: []*tensor.Tensor{tensor.Scalar(ir.F32, r.Float64())}}
	for n := 1 + r.Intn(3); n > 0; n-- {
		e.Args = append(e.Args, anyTensor(r, ir.F32, 0))
	}
	return e
}
