package op

import (
	"fmt"
	"math/rand"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/tensor"
)

// Memories of one device. Kernels read and write device memory alone; values
// may lie in the memory of the host or in a file on its disk as well, and in
// pieces, which are ranges of the major axis and so of consecutive bytes:
//
//	subview          a piece of a value in device memory, in its place
//	concat_in_place  pieces that lie one behind the other, as one value
//	host_to_device   copies values in another memory, or a piece of each, to the device
//	device_to_host   copies values in device memory to another memory
//
// The first two copy nothing. The others may be started, like collectives.

func init() {
	axis := AttrSpec{"axis", ir.Name(""), false}
	from, limit := AttrSpec{"from", ir.Int(0), false}, AttrSpec{"limit", ir.Int(0), false}
	why := AttrSpec{"why", ir.Str(""), false}
	Register(&Def{
		Name: Subview, Doc: "The elements [`from`, `limit`) along `axis`, the operand's major one, in their place.",
		Class: Collective, MinArgs: 1, MaxArgs: 1,
		Attrs: []AttrSpec{required(axis), required(from), required(limit)},
		Infer: inferPieces, Shard: replicated, State: eachOperand(anyState), Eval: evalPieces, Traits: Views,
		Flops: noFlops, Sample: samplePieces,
	})
	Register(&Def{
		Name: ConcatInPlace, Doc: "The operands, one behind the other along `axis`, their major one, in their place.",
		Class: Collective, MinArgs: 1, MaxArgs: -1,
		Attrs: []AttrSpec{required(axis)},
		Infer: inferConcatInPlace, Shard: replicated, State: stateConcatInPlace, Eval: evalConcat, Traits: Joins,
		Flops: noFlops, Sample: sampleConcatInPlace,
	})
	Register(&Def{
		Name: collective.HostToDevice, Doc: "Copies the operands from the memory of the host, or its disk, to the device; with `axis`, their major one, the elements [`from`, `limit`) of each.",
		Class: Collective, MinArgs: 1, MaxArgs: -1,
		Attrs: []AttrSpec{axis, from, limit, why}, Traits: Loads | Starts,
		Infer: inferPieces, Shard: replicated, State: eachOperand(anyState), Eval: evalPieces,
		Flops: noFlops, Sample: samplePieces,
	})
	Register(&Def{
		Name: collective.DeviceToHost, Doc: "Copies the operands to `memory`: that of the host, or its disk.",
		Class: Collective, MinArgs: 1, MaxArgs: -1,
		Attrs: []AttrSpec{why}, Traits: Stores | Starts | SameValue,
		Infer: func(args []ir.Type, _ ir.Attrs) ([]ir.Type, error) { return cloned(args), nil },
		Shard: replicated, State: eachOperand(anyState),
		Eval:  func(_ *Context, _ *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) { return args, nil },
		Flops: noFlops, Sample: sampleCollective(nil, false, false),
	})
}

func required(a AttrSpec) AttrSpec {
	a.Required = true
	return a
}

// Piece is the range of its operands' major axis that o, a subview or a copy to the device, is;
// without one, ok is false, and results are the operands.
func Piece(o *ir.Op) (axis string, from, limit int64, ok bool) {
	if !Has(o, Views|Loads) || !o.Attrs.Has("axis") {
		return "", 0, 0, false
	}
	return o.Attrs.Text("axis"), o.Attrs.Int("from", 0), o.Attrs.Int("limit", 0), true
}

// Memories says for each value of f that is not in device memory in which it is.
func Memories(f *ir.Func) map[*ir.Value]ir.Memory {
	out := map[*ir.Value]ir.Memory{}
	for _, a := range f.Args {
		if a.Memory != ir.Device {
			out[a.Value] = a.Memory
		}
	}
	for _, o := range f.Ops {
		switch {
		case Has(o, Stores):
			for _, r := range o.Results {
				out[r] = o.Memory
			}
		case Has(o, InPlace|Completes):
			for i, r := range o.Results {
				if m := out[o.Args[i]]; m != ir.Device {
					out[r] = m
				}
			}
		}
	}
	return out
}

// major checks that axis is the first that is longer than one element: then a
// range of it is a range of bytes.
func major(t ir.Type, axis string) error {
	if !t.Has(axis) {
		return unknownAxis(axis, t)
	}
	for _, a := range t.Axes {
		if a.Name == axis {
			return nil
		}
		if a.Size > 1 {
			return axisErr(axis, "axis `%s` is not the major one of %s", axis, t)
		}
	}
	return nil
}

func inferPieces(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	out := cloned(args)
	if !attrs.Has("axis") {
		if attrs.Has("from") || attrs.Has("limit") {
			return nil, &ShapeError{Msg: "a range of no axis"}
		}
		return out, nil
	}
	axis, from, limit := attrs.Text("axis"), attrs.Int("from", 0), attrs.Int("limit", 0)
	for i, t := range out {
		if err := major(t, axis); err != nil {
			return nil, err
		}
		a := &out[i].Axes[t.Index(axis)]
		if from < 0 || limit > int64(a.Size) || from >= limit {
			e := axisErr(axis, "the piece from %d to %d of axis `%s`, which is %d", from, limit, axis, a.Size)
			e.Want = "0 <= from < limit <= size"
			return nil, e
		}
		a.Size = int(limit - from)
	}
	return out, nil
}

func inferConcatInPlace(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	out, err := inferConcat(args, attrs)
	if err != nil {
		return nil, err
	}
	for _, t := range args {
		if err := major(t, attrs.Text("axis")); err != nil {
			return nil, err
		}
		for i, a := range t.Axes {
			if a.Name != args[0].Axes[i].Name {
				return nil, &ShapeError{Msg: fmt.Sprintf("pieces with axes in two orders: %s and %s", args[0], t)}
			}
		}
	}
	at := out[0].Index(attrs.Text("axis"))
	out[0].Axes[at].Mesh = append([]string(nil), args[0].Axes[at].Mesh...)
	out[0].Partial = append([]ir.Partial(nil), args[0].Partial...)
	return out, nil
}

// stateConcatInPlace: every piece is of one state, which the result has as well.
func stateConcatInPlace(o *ir.Op, args []ir.Type) ([]ir.Type, error) {
	for i, t := range args {
		if !SameState(t, args[0]) {
			return nil, &ShapeError{Msg: fmt.Sprintf("pieces 1 and %d are %s and %s", i+1, args[0], t), Want: "pieces of one state"}
		}
	}
	return inferConcatInPlace(args, o.Attrs)
}

func evalPieces(_ *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	axis, from, _, ok := Piece(o)
	if !ok {
		return args, nil
	}
	return exchangeEach(args, func(i int, x *tensor.Tensor) (*tensor.Tensor, error) {
		return part(o.Results[i].Type, x, axis, int(from)), nil
	})
}

// sampleMajor is an operand whose first axis is long enough to be cut.
func sampleMajor(r *rand.Rand, size int) *tensor.Tensor {
	axes := sampleAxes(r, 1+r.Intn(3))
	axes[0].Size = size
	return filled(typed(ir.F32, axes), away(r, 0.1, 2))
}

func samplePieces(r *rand.Rand) Example {
	x := sampleMajor(r, 4)
	from := r.Intn(3)
	return Example{Args: []*tensor.Tensor{x}, Attrs: ir.A("axis", ir.Name(x.Type.Axes[0].Name), "from", ir.Int(from), "limit", ir.Int(from+1+r.Intn(4-from)))}
}

func sampleConcatInPlace(r *rand.Rand) Example {
	x := sampleMajor(r, 2)
	y := typed(ir.F32, x.Type.Clone().Axes)
	y.Axes[0].Size = 1 + r.Intn(3)
	return Example{Args: []*tensor.Tensor{x, filled(y, away(r, 0.1, 2))}, Attrs: ir.A("axis", ir.Name(x.Type.Axes[0].Name))}
}
