package op

import (
	"fmt"
	"math"
	"math/rand"

	"ptc/internal/dtype"
	"ptc/ir"
	"ptc/ir/tensor"
)

// The elementwise operations that are neither unary nor binary by one dtype:
// cast and select.

func init() {
	Register(&Def{
		Name: "cast", Word: "cast", Doc: "The operand as dtype `to`: float to i32 truncates and saturates (NaN gives 0), bool gives 0 or 1, to bool is whether it is not 0.",
		Class: Elementwise, MinArgs: 1, MaxArgs: 1,
		Attrs:  []AttrSpec{{"to", ir.Name(""), true}, {AttrPartial, ir.BoolVal(false), false}},
		Traits: Converts, Linear: Linearity{In: [][]int{{0}}},
		Infer: inferCast, Grad: gradCast, Shard: elemRule,
		Eval: evalCast, Flops: noFlops, Sample: sampleCast,
	})
	Register(&Def{
		Name: "select", Word: "where", Doc: "The second operand where the first holds, else the third.",
		Class: Elementwise, MinArgs: 3, MaxArgs: 3,
		Infer: inferSelect, Grad: gradSelect, Shard: elemRule, Linear: Linearity{In: [][]int{{1, 2}}},
		Eval: func(_ *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return results(choose(o.Result().Type, args[0], args[1], args[2]))
		},
		Flops: flopsPer(1), Sample: sampleSelect,
	})
}

// IsCopy reports whether o gives its operand as it is: a cast to the dtype that
// it has.
func IsCopy(o *ir.Op) bool {
	return o.Name == "cast" && o.Args[0].Type.DType == o.Result().Type.DType
}

// AttrPartial marks a cast between floats as one of partial sums: each device casts
// what it has, and the result is partial. It is linear up to rounding.
const AttrPartial = "partial"

// IsLinear reports whether partial sums pass through o: its row is linear, or it is a cast that says so.
func IsLinear(o *ir.Op) bool { return Of(o).Linear.Carries() || o.Attrs.Bool(AttrPartial) }

// roundsTerms reports whether cast o is linear up to rounding: between floats that hold terms of a sum as well as the
// sum. Eight bits do not: their unit is that of the whole tensor.
func roundsTerms(o *ir.Op) bool {
	from, to := o.Args[0].Type.DType, o.Results[0].Type.DType
	return from.IsFloat() && to.IsFloat() && from.Bits() > 8 && to.Bits() > 8
}

// dtypeAttr is the dtype under key, or def where the key is not set.
func dtypeAttr(attrs ir.Attrs, key string, def ir.DType) (ir.DType, error) {
	if !attrs.Has(key) {
		return def, nil
	}
	d, ok := ir.ParseDType(attrs.Text(key))
	if !ok {
		return 0, &ShapeError{
			Msg:        fmt.Sprintf("unknown dtype `%s`", attrs.Text(key)),
			Candidates: dtype.Names(dtype.Tensors()),
		}
	}
	return d, nil
}

func inferCast(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	to, err := dtypeAttr(attrs, "to", args[0].DType)
	if err != nil {
		return nil, err
	}
	if attrs.Bool(AttrPartial) && !(args[0].DType.IsFloat() && to.IsFloat()) {
		return nil, &ShapeError{Msg: fmt.Sprintf("a cast of partial sums from %s to %s", args[0].DType, to), Want: "floats"}
	}
	return one(ir.Type{DType: to, Axes: cloneAxes(args[0].Axes...)})
}

func gradCast(b *Builder, o *ir.Op, grads []*ir.Value) []*ir.Value {
	from := o.Args[0].Type.DType
	if grads[0] == nil || !from.IsFloat() || !o.Result().Type.DType.IsFloat() {
		return []*ir.Value{nil}
	}
	return []*ir.Value{b.Cast(grads[0], from)}
}

func evalCast(_ *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	f := func(x float64) float64 { return x } // the evaluator rounds
	switch from, t := args[0].Type.DType, o.Result().Type; {
	case t.DType == ir.Bool:
		f = func(x float64) float64 { return truth(x != 0) }
	case t.DType.IsInt() && from.IsFloat():
		lo, hi := t.DType.Bounds()
		f = func(x float64) float64 { return truncate(x, lo, hi) }
	}
	return results(map1(o.Result().Type, args[0], f))
}

// truncate is a float as an integer: toward zero, saturating, 0 for NaN.
func truncate(x, lo, hi float64) float64 {
	if x != x {
		return 0
	}
	return math.Max(lo, math.Min(hi, math.Trunc(x)))
}

func sampleCast(r *rand.Rand) Example {
	all := dtype.Tensors()
	from, to := all[r.Intn(len(all))], all[r.Intn(len(all))]
	return Example{
		Args:  []*tensor.Tensor{anyTensor(r, from, 0)},
		Attrs: ir.A("to", ir.Name(to.String())),
	}
}

func inferSelect(args []ir.Type, _ ir.Attrs) ([]ir.Type, error) {
	if args[0].DType != ir.Bool {
		return nil, &ShapeError{Msg: fmt.Sprintf("the condition of `select` is %s", args[0].DType), Want: "bool"}
	}
	if args[1].DType != args[2].DType {
		return nil, &ShapeError{
			Msg:  fmt.Sprintf("`select` chooses between %s and %s", args[1].DType, args[2].DType),
			Want: "one dtype; there are no implicit casts",
		}
	}
	axes, err := align(args)
	if err != nil {
		return nil, err
	}
	return one(ir.Type{DType: args[1].DType, Axes: axes})
}

func gradSelect(b *Builder, o *ir.Op, grads []*ir.Value) []*ir.Value {
	out := make([]*ir.Value, 3)
	if grads[0] == nil || !o.Result().Type.DType.IsFloat() {
		return out
	}
	gx, gy := route(b, o.Args[0], grads[0])
	out[1] = b.Unbroadcast(gx, o.Args[1].Type)
	out[2] = b.Unbroadcast(gy, o.Args[2].Type)
	return out
}

func sampleSelect(r *rand.Rand) Example {
	d := anyType.sample(r)
	all := sampleAxes(r, r.Intn(4))
	return Example{Args: []*tensor.Tensor{
		filled(typed(ir.Bool, someOf(r, all)), whole(r, 0, 1)),
		filled(typed(d, someOf(r, all)), draw(r, d, 0.1, 2)),
		filled(typed(d, someOf(r, all)), draw(r, d, 0.1, 2)),
	}}
}
