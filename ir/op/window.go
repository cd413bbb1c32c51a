package op

import (
	"math/rand"

	"ptc/ir"
	"ptc/ir/tensor"
)

// Movement of parts of an axis: slice, pad, concat.

func init() {
	axis := AttrSpec{"axis", ir.Name(""), true}
	Register(&Def{
		Name: "slice", Word: "[]", Doc: "The elements from `start` to before `limit` of `axis`.",
		Class: Movement, Linear: Linearity{All: true}, MinArgs: 1, MaxArgs: 1,
		Attrs: []AttrSpec{axis, {"start", ir.Int(0), true}, {"limit", ir.Int(0), true}},
		Infer: inferSlice,
		Grad: grad1(func(b *Builder, o *ir.Op, g *ir.Value) *ir.Value {
			n := o.Attrs.Text("axis")
			high := int64(o.Args[0].Type.Size(n)) - o.Attrs.Int("limit", 0)
			return b.Emit("pad", ir.A("axis", ir.Name(n), "low", ir.Int(o.Attrs.Int("start", 0)), "high", ir.Int(high)), g)
		}),
		Shard: ruleAlong,
		Eval: func(_ *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return results(part(o.Result().Type, args[0], o.Attrs.Text("axis"), int(o.Attrs.Int("start", 0))))
		},
		Flops: noFlops, Sample: sampleSlice, View: viewSlice,
	})
	Register(&Def{
		Name: "pad", Doc: "The operand with `low` zeros before and `high` zeros after `axis`.",
		Class: Movement, Linear: Linearity{All: true}, MinArgs: 1, MaxArgs: 1,
		Attrs: []AttrSpec{axis, {"low", ir.Int(0), true}, {"high", ir.Int(0), true}},
		Infer: inferPad,
		Grad: grad1(func(b *Builder, o *ir.Op, g *ir.Value) *ir.Value {
			n, low := o.Attrs.Text("axis"), o.Attrs.Int("low", 0)
			return b.slice(g, n, low, low+int64(o.Args[0].Type.Size(n)))
		}),
		Shard: ruleAlong,
		Eval: func(_ *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
			out := tensor.New(o.Result().Type)
			place(out, args[0], o.Attrs.Text("axis"), int(o.Attrs.Int("low", 0)))
			return results(out)
		},
		Flops: noFlops, Sample: samplePad,
	})
	Register(&Def{
		Name: "concat", Word: "concat", Doc: "The operands one after the other along `axis`; other axes align by name, in the first operand's order.",
		Class: Movement, Linear: Linearity{All: true}, MinArgs: 1, MaxArgs: -1,
		Attrs: []AttrSpec{axis},
		Infer: inferConcat, Grad: gradConcat, Shard: ruleAlong,
		Eval: evalConcat, Flops: noFlops, Sample: sampleConcat,
	})
}

func (b *Builder) slice(x *ir.Value, axis string, start, limit int64) *ir.Value {
	return b.Emit("slice", ir.A("axis", ir.Name(axis), "start", ir.Int(start), "limit", ir.Int(limit)), x)
}

// resized is x with axis at given another size. The sharding is dropped: the
// parts of the one are not those of the other.
func resized(x ir.Type, at, size int) ir.Type {
	t := ir.Type{DType: x.DType, Axes: cloneAxes(x.Axes...)}
	if size != t.Axes[at].Size {
		t.Axes[at].Size, t.Axes[at].Mesh = size, nil
	}
	return t
}

func inferSlice(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	x, axis := args[0], attrs.Text("axis")
	at := x.Index(axis)
	if at < 0 {
		return nil, unknownAxis(axis, x)
	}
	start, limit, size := attrs.Int("start", 0), attrs.Int("limit", 0), int64(x.Axes[at].Size)
	if start < 0 || limit > size || start >= limit {
		e := axisErr(axis, "the slice from %d to %d of axis `%s`, which is %d", start, limit, axis, size)
		e.Want = "0 <= start < limit <= size"
		return nil, e
	}
	return one(resized(x, at, int(limit-start)))
}

func inferPad(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	x, axis := args[0], attrs.Text("axis")
	at := x.Index(axis)
	if at < 0 {
		return nil, unknownAxis(axis, x)
	}
	low, high := attrs.Int("low", 0), attrs.Int("high", 0)
	const limit = 1 << 40 // beyond any tensor; keeps the sum from overflowing
	if low < 0 || high < 0 || low > limit || high > limit {
		return nil, axisErr(axis, "axis `%s` cannot be padded by %d and %d", axis, low, high)
	}
	return one(resized(x, at, x.Axes[at].Size+int(low+high)))
}

func inferConcat(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	axis := attrs.Text("axis")
	if _, err := sameDType(args); err != nil {
		return nil, err
	}
	at, size := args[0].Index(axis), 0
	for i, x := range args {
		if !x.Has(axis) {
			e := unknownAxis(axis, x)
			e.Msg = axisErr(axis, "the operand %s has no axis `%s` to concatenate along", side(i, len(args)), axis).Msg
			return nil, e
		}
		for _, a := range x.Axes {
			if a.Name != axis && args[0].Has(a.Name) && args[0].Size(a.Name) != a.Size {
				return nil, sizesDiffer(a.Name, len(args), 0, args[0].Size(a.Name), i, a.Size)
			}
			if !args[0].Has(a.Name) {
				return nil, axisErr(a.Name, "only the operand %s has axis `%s`", side(i, len(args)), a.Name)
			}
		}
		if miss := without(args[0].Names(), x.Names()...); len(miss) > 0 {
			return nil, axisErr(miss[0], "the operand %s lacks axis `%s`", side(i, len(args)), miss[0])
		}
		size += x.Size(axis)
	}
	return one(resized(args[0], at, size))
}

func gradConcat(b *Builder, o *ir.Op, grads []*ir.Value) []*ir.Value {
	out := make([]*ir.Value, len(o.Args))
	if grads[0] == nil || !o.Result().Type.DType.IsFloat() {
		return out
	}
	axis, at := o.Attrs.Text("axis"), int64(0)
	for i, x := range o.Args {
		n := int64(x.Type.Size(axis))
		out[i] = b.Reorder(b.slice(grads[0], axis, at, at+n), x.Type)
		at += n
	}
	return out
}

// ruleAlong lets every axis but `axis` be sharded.
func ruleAlong(o *ir.Op) Rule { return along(o, o.Attrs.Text("axis")) }

func evalConcat(_ *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	axis, at := o.Attrs.Text("axis"), 0
	out := tensor.New(o.Result().Type)
	for _, x := range args {
		place(out, x, axis, at)
		at += x.Type.Size(axis)
	}
	return results(out)
}

func sampleSlice(r *rand.Rand) Example {
	x := anyTensor(r, anyType.sample(r), 1)
	a := x.Type.Axes[r.Intn(x.Type.Rank())]
	start := r.Intn(a.Size)
	limit := start + 1 + r.Intn(a.Size-start)
	return Example{
		Args:  []*tensor.Tensor{x},
		Attrs: ir.A("axis", ir.Name(a.Name), "start", ir.Int(start), "limit", ir.Int(limit)),
	}
}

func samplePad(r *rand.Rand) Example {
	x := anyTensor(r, anyType.sample(r), 1)
	a := x.Type.Axes[r.Intn(x.Type.Rank())]
	return Example{
		Args:  []*tensor.Tensor{x},
		Attrs: ir.A("axis", ir.Name(a.Name), "low", ir.Int(r.Intn(3)), "high", ir.Int(r.Intn(3))),
	}
}

func sampleConcat(r *rand.Rand) Example {
	d, axes := anyType.sample(r), sampleAxes(r, 1+r.Intn(3))
	at := r.Intn(len(axes))
	e := Example{Attrs: ir.A("axis", ir.Name(axes[at].Name))}
	for n := 1 + r.Intn(3); n > 0; n-- {
		mine := append([]ir.Axis(nil), axes...)
		mine[at].Size = sampleSizes[r.Intn(len(sampleSizes))]
		e.Args = append(e.Args, filled(typed(d, shuffled(r, mine)), draw(r, d, 0.1, 2)))
	}
	return e
}
