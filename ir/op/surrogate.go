package op

import (
	"fmt"
	"math/rand"

	"ptc/ir"
	"ptc/ir/tensor"
)

func init() {
	Register(&Def{
		Name: Surrogate, Doc: "The first operand, differentiated as the second, which is the same mathematics: one form to compute, the other for the backward phase; resolved by autodiff.",
		Class: Symbolic, MinArgs: 2, MaxArgs: 2,
		Infer: func(args []ir.Type, _ ir.Attrs) ([]ir.Type, error) {
			if x, y := args[0], args[1]; !x.Permutes(y) {
				return nil, &ShapeError{Msg: fmt.Sprintf("`surrogate` of %s by %s", x, y), Want: "one type, in any order of axes"}
			}
			return one(ir.Type{DType: args[0].DType, Axes: cloneAxes(args[0].Axes...)})
		},
		Shard: elemRule,
		Grad: func(b *Builder, o *ir.Op, grads []*ir.Value) []*ir.Value {
			if grads[0] == nil || !o.Result().Type.DType.IsFloat() {
				return []*ir.Value{nil, nil}
			}
			return []*ir.Value{nil, b.Unbroadcast(grads[0], o.Args[1].Type)}
		},
		Eval: func(_ *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return results(map2(o.Result().Type, args[0], args[1], func(x, _ float64) float64 { return x }))
		},
		Flops: noFlops,
		Sample: func(r *rand.Rand) Example {
			d, axes := floats.sample(r), sampleAxes(r, r.Intn(4))
			return Example{Args: []*tensor.Tensor{filled(typed(d, axes), draw(r, d, 0.1, 2)), filled(typed(d, axes), draw(r, d, 0.1, 2))}}
		},
	})
}
