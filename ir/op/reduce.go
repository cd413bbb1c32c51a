package op

import (
	"math"
	"math/rand"
	"slices"

	"ptc/ir"
	"ptc/ir/tensor"
)

func init() {
	over := []AttrSpec{{"over", ir.Names(nil), true}}
	Register(&Def{
		Name: "reduce_sum", Word: "sum", Doc: "The sum over the axes `over`.",
		Class: Reduction, MinArgs: 1, MaxArgs: 1, Attrs: over,
		Infer: inferReduce("reduce_sum"), Grad: gradReduceSum, Shard: reduceRule(sums),
		Eval: func(_ *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
			add := func(acc, x float64) float64 { return acc + x }
			if o.Result().Type.DType.IsInt() {
				add = func(acc, x float64) float64 { return wrap(acc + x) }
			}
			return results(fold(o.Result().Type, args[0], 0, add))
		},
		Flops: reduceFlops, Sample: sampleReduce, Linear: Linearity{All: true, Early: true},
	})
	Register(&Def{
		Name: "reduce_max", Word: "max", Doc: "The maximum over the axes `over`, NaN if any is; elements that tie share the gradient equally. With `own`, a microbatch has its own.",
		Class: Reduction, MinArgs: 1, MaxArgs: 1, Attrs: append(slices.Clip(over), AttrSpec{AttrOwn, ir.BoolVal(false), false}),
		Infer: inferReduce("reduce_max"), Grad: gradReduceMax, Shard: reduceRule(maxes),
		Eval: func(_ *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return results(fold(o.Result().Type, args[0], math.Inf(-1), func(x, y float64) float64 { return max(x, y) }))
		},
		Flops: reduceFlops, Sample: sampleReduce,
	})
}

// AttrOwn marks a maximum that each microbatch has of its own elements: what is made of it does not depend on
// which elements it is of, up to rounding, as the unit of numbers that are rounded.
const AttrOwn = "own"

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

func reduceRule(reduced role) func(*ir.Op) Rule {
	return func(o *ir.Op) Rule {
		over := o.Attrs.Names("over")
		return named(o, func(n string) role {
			if slices.Contains(over, n) {
				return reduced
			}
			return passes
		})
	}
}

func reduceFlops(o *ir.Op) int64 { return int64(o.Args[0].Type.Elems()) }

// sampleReduce draws distinct values, so that a maximum does not tie.
func sampleReduce(r *rand.Rand) Example {
	axes := sampleAxes(r, 1+r.Intn(3))
	x := tensor.New(typed(numbers.sample(r), axes))
	for i, j := range r.Perm(len(x.Data)) {
		x.Data[i] = float64(j - len(x.Data)/2)
		if x.Type.DType.IsFloat() {
			x.Data[i] *= 0.1
		}
	}
	return Example{Args: []*tensor.Tensor{x}, Attrs: ir.A("over", axisNames(someOf(r, axes)))}
}
