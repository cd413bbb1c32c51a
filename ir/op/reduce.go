package op

import (
	"ptc/ir"
)

func init() {
	over := []AttrSpec{{"over", ir.Names(nil), true}}
	Register(&Def{
		Name: "reduce_sum", Doc: "The sum over the axes `over`.",
		Class: Reduction, MinArgs: 1, MaxArgs: 1, Attrs: over,
		Infer: inferReduce("reduce_sum"), Grad: gradReduceSum,
	})
	Register(&Def{
		Name: "reduce_max", Doc: "The maximum over the axes `over`, NaN if any is; elements that tie share the gradient equally.",
		Class: Reduction, MinArgs: 1, MaxArgs: 1, Attrs: over,
		Infer: inferReduce("reduce_max"), Grad: gradReduceMax,
	})
}

func inferReduce(name string) func([]ir.Type, ir.Attrs) ([]ir.Type, error) {
	return func(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
		x, over := args[0], attrs.Names("over")
		if err := wantKind(name, x, numbers); err != nil {
			return nil, err
		}
		for _, n := range over {
			if !x.Has(n) {
				return nil, unknownAxis(n, x)
			}
		}
		if n := repeated(over); n != "" {
			return nil, axisErr(n, "axis `%s` is reduced twice", n)
		}
		return one(ir.Type{DType: x.DType, Axes: x.Drop(over...).Axes})
	}
}

func gradReduceSum(b *Builder, o *ir.Op, grads []*ir.Value) []*ir.Value {
	x := o.Args[0]
	if grads[0] == nil || !x.Type.DType.IsFloat() {
		return []*ir.Value{nil}
	}
	return []*ir.Value{b.Broadcast(grads[0], x.Type)}
}

// gradReduceMax shares the gradient equally among the elements that are the
// maximum, so that it is symmetric and its sum is the result's gradient.
func gradReduceMax(b *Builder, o *ir.Op, grads []*ir.Value) []*ir.Value {
	x := o.Args[0]
	if grads[0] == nil || !x.Type.DType.IsFloat() {
		return []*ir.Value{nil}
	}
	hit := b.Cast(b.Emit("eq", nil, x, o.Result()), x.Type.DType)
	count := b.Sum(hit, o.Attrs.Names("over")...)
	return []*ir.Value{b.Mul(hit, b.Div(grads[0], count))}
}
