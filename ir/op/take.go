package op

import (
	"fmt"
	"math/rand"

	"ptc/ir"
	"ptc/ir/tensor"
)

// Movement within an axis to other positions: take, what `permute` is between
// devices. Where each position is on a device of its own, partition makes the
// one of the other; elsewhere it makes slices of it, so that no level after
// Sharded has it.

func init() {
	Register(&Def{
		Name: "take", Doc: "The elements of `axis` in another order: number i is the operand's number `sources`[i], each once.",
		Class: Movement, Linear: Linearity{All: true}, MinArgs: 1, MaxArgs: 1,
		Attrs: []AttrSpec{{"axis", ir.Name(""), true}, {"sources", ir.Ints(nil), true}, {"why", ir.Str(""), false}},
		Infer: inferTake,
		Grad: grad1(func(b *Builder, o *ir.Op, g *ir.Value) *ir.Value {
			return b.Emit("take", o.Attrs.With("sources", Inverse(o.Attrs.Ints("sources"))), g)
		}),
		Shard: func(o *ir.Op) Rule {
			return named(o, func(n string) role {
				if n == o.Attrs.Text("axis") {
					return exchanged
				}
				return passes
			})
		},
		Eval: func(_ *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
			axis, out := o.Attrs.Text("axis"), tensor.New(o.Result().Type)
			row := resized(args[0].Type, args[0].Type.Index(axis), 1)
			for i, s := range o.Attrs.Ints("sources") {
				place(out, part(row, args[0], axis, int(s)), axis, i)
			}
			return results(out)
		},
		Flops: noFlops, Sample: sampleTake,
	})
}

func inferTake(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	x, axis, sources := args[0], attrs.Text("axis"), attrs.Ints("sources")
	if !x.Has(axis) {
		return nil, unknownAxis(axis, x)
	}
	if n := x.Size(axis); n != len(sources) {
		return nil, axisErr(axis, "axis `%s` is %d, and `take` names %d sources", axis, n, len(sources))
	}
	taken := make([]bool, len(sources))
	for _, s := range sources {
		if s < 0 || s >= int64(len(sources)) || taken[s] {
			e := axisErr(axis, "`take` of axis `%s` has the source %d twice or out of range", axis, s)
			e.Want = fmt.Sprintf("each position from 0 to %d once", len(sources)-1)
			return nil, e
		}
		taken[s] = true
	}
	return one(ir.Type{DType: x.DType, Axes: cloneAxes(x.Axes...)})
}

// sourcesErr is what is wrong with the sources of a permute, or nil.
func sourcesErr(sources []int64) error {
	for _, s := range sources {
		if s < -1 || s >= int64(len(sources)) {
			return &ShapeError{Msg: fmt.Sprintf("`permute` among %d devices receives from device %d", len(sources), s)}
		}
	}
	return nil
}

// Taken is the axis along which o exchanges positions of the whole value, and
// their sources: of a take, and of a permute that is one. Empty for any other
// operation.
func Taken(o *ir.Op) (axis string, sources []int64) {
	if o.Name != "take" && o.Name != "permute" {
		return "", nil
	}
	return o.Attrs.Text("axis"), o.Attrs.Ints("sources")
}

// Runs are the attributes of the slices that, one after the other, are the take
// of these sources along an axis.
func Runs(axis string, sources []int64) (slices []ir.Attrs) {
	for i := 0; i < len(sources); {
		n := 1
		for i+n < len(sources) && sources[i+n] == sources[i]+int64(n) {
			n++
		}
		slices = append(slices, ir.A("axis", ir.Name(axis), "start", ir.Int(sources[i]), "limit", ir.Int(sources[i]+int64(n))))
		i += n
	}
	return slices
}

// Inverse is the permutation that undoes another.
func Inverse(sources []int64) ir.Ints {
	out := make(ir.Ints, len(sources))
	for i, s := range sources {
		out[s] = int64(i)
	}
	return out
}

func sampleTake(r *rand.Rand) Example {
	x := anyTensor(r, anyType.sample(r), 1)
	a := x.Type.Axes[r.Intn(x.Type.Rank())]
	sources := make(ir.Ints, a.Size)
	for i, s := range r.Perm(a.Size) {
		sources[i] = int64(s)
	}
	return Example{Args: []*tensor.Tensor{x}, Attrs: ir.A("axis", ir.Name(a.Name), "sources", sources)}
}
