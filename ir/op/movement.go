package op

import (
	"math/rand"

	"ptc/ir"
	"ptc/ir/tensor"
)

// Movement of whole axes: transpose, rename, broadcast.

func init() {
	Register(&Def{
		Name: "transpose", Word: "transpose", Doc: "The operand with its axes stored in `order`.",
		Class: Movement, Linear: Linearity{All: true}, MinArgs: 1, MaxArgs: 1,
		Attrs: []AttrSpec{{"order", ir.Names(nil), true}},
		Infer: func(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
			return only(reordered(args[0], attrs.Names("order"), "order"))
		},
		Grad:  grad1(func(b *Builder, o *ir.Op, g *ir.Value) *ir.Value { return b.Reorder(g, o.Args[0].Type) }),
		Shard: elemRule, Eval: evalReorder, Flops: noFlops,
		View: viewByName, Traits: ByName,
		Sample: func(r *rand.Rand) Example {
			x := anyTensor(r, anyType.sample(r), 0)
			return Example{Args: []*tensor.Tensor{x}, Attrs: ir.A("order", axisNames(shuffled(r, x.Type.Axes)))}
		},
	})
	Register(&Def{
		Name: "rename", Word: "rename", Doc: "The operand with axes renamed, all at once.",
		Class: Movement, Linear: Linearity{All: true}, MinArgs: 1, MaxArgs: 1,
		Attrs: []AttrSpec{{"axes", ir.Pairs(nil), true}},
		Infer: inferRename,
		Grad: grad1(func(b *Builder, o *ir.Op, g *ir.Value) *ir.Value {
			var back ir.Pairs
			for _, p := range o.Attrs.Pairs("axes") {
				back = append(back, ir.Pair{From: p.To, To: p.From})
			}
			return b.Emit("rename", ir.A("axes", back), g)
		}),
		Shard: func(o *ir.Op) Rule { return mapped(o, renaming(o.Attrs)) },
		Eval:  evalSame, Flops: noFlops, Sample: sampleRename, View: viewRename,
	})
	Register(&Def{
		Name: "broadcast", Word: "broadcast", Doc: "The operand repeated along the axes it lacks, with exactly `axes` in their order.",
		Class: Movement, Linear: Linearity{All: true}, MinArgs: 1, MaxArgs: 1,
		Attrs: []AttrSpec{{"axes", ir.Sizes(nil), true}},
		Infer: inferBroadcast,
		Grad:  grad1(func(b *Builder, o *ir.Op, g *ir.Value) *ir.Value { return b.Unbroadcast(g, o.Args[0].Type) }),
		Shard: elemRule, Eval: evalReorder, Flops: noFlops,
		View: viewByName, Traits: ByName, Localize: localSizes("axes"),
		Sample: func(r *rand.Rand) Example {
			x := anyTensor(r, anyType.sample(r), 0)
			to := append([]ir.Axis(nil), x.Type.Axes...)
			for _, a := range sampleAxes(r, 2) {
				if !x.Type.Has(a.Name) {
					to = append(to, a)
				}
			}
			attrs := ir.A("axes", sizesOf(ir.Type{Axes: shuffled(r, to)}))
			return Example{Args: []*tensor.Tensor{x}, Attrs: attrs}
		},
	})
}

// grad1 is the gradient of an operation of one differentiable operand and one
// result.
func grad1(f func(b *Builder, o *ir.Op, g *ir.Value) *ir.Value) func(*Builder, *ir.Op, []*ir.Value) []*ir.Value {
	return func(b *Builder, o *ir.Op, grads []*ir.Value) []*ir.Value {
		out := make([]*ir.Value, len(o.Args))
		if grads[0] != nil && o.Args[0].Type.DType.IsFloat() {
			out[0] = f(b, o, grads[0])
		}
		return out
	}
}

// evalReorder copies to the result's order, repeating along axes that the
// operand lacks.
func evalReorder(_ *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return results(args[0].Reordered(o.Result().Type))
}

// evalSame copies storage that only gets other axes.
func evalSame(_ *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return results(&tensor.Tensor{Type: o.Result().Type, Data: append([]float64(nil), args[0].Data...)})
}

// renaming is the new name of each axis.
func renaming(attrs ir.Attrs) func(string) string {
	return func(axis string) string {
		for _, p := range attrs.Pairs("axes") {
			if p.From == axis {
				return p.To
			}
		}
		return axis
	}
}

// sampleRename renames some axes to fresh names and may exchange two.
func sampleRename(r *rand.Rand) Example {
	x := anyTensor(r, anyType.sample(r), 1)
	var p ir.Pairs
	for i, a := range x.Type.Axes {
		if r.Intn(2) == 0 {
			p = append(p, ir.Pair{From: a.Name, To: []string{"x", "y", "z"}[i]})
		}
	}
	if n := x.Type.Names(); len(n) > 1 && r.Intn(3) == 0 {
		p = ir.Pairs{{From: n[0], To: n[1]}, {From: n[1], To: n[0]}}
	}
	return Example{Args: []*tensor.Tensor{x}, Attrs: ir.A("axes", p)}
}

func inferRename(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	x := args[0]
	to := map[string]string{}
	for _, p := range attrs.Pairs("axes") {
		if !x.Has(p.From) {
			return nil, unknownAxis(p.From, x)
		}
		if _, twice := to[p.From]; twice {
			return nil, axisErr(p.From, "axis `%s` is renamed twice", p.From)
		}
		to[p.From] = p.To
	}
	t := ir.Type{DType: x.DType, Axes: cloneAxes(x.Axes...)}
	for i, a := range t.Axes {
		if n, ok := to[a.Name]; ok {
			t.Axes[i].Name = n
		}
	}
	for i, a := range t.Axes {
		if t.Index(a.Name) != i {
			return nil, axisErr(a.Name, "`rename` would give two axes the name `%s`", a.Name)
		}
	}
	return one(t)
}

func inferBroadcast(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	x := args[0]
	t := ir.Type{DType: x.DType}
	for _, s := range attrs.Sizes("axes") {
		a := ir.Axis{Name: s.Name, Size: s.N}
		if i := x.Index(s.Name); i >= 0 {
			if x.Axes[i].Size != s.N {
				return nil, axisErr(s.Name, "axis `%s` is %d in the operand and %d in `axes`", s.Name, x.Axes[i].Size, s.N)
			}
			a = cloneAxes(x.Axes[i])[0]
		}
		t.Axes = append(t.Axes, a)
	}
	if miss := without(x.Names(), t.Names()...); len(miss) > 0 {
		e := axisErr(miss[0], "`broadcast` loses axis `%s`", miss[0])
		e.Want = "every axis of the operand among the result's"
		return nil, e
	}
	return one(t)
}
