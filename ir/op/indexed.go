package op

import (
	"fmt"

	"ptc/ir"
)

// Lookup by an i32 tensor of positions: gather and its adjoint.

func init() {
	Register(&Def{
		Name: "gather", Word: "[]", Doc: "The elements of the first operand at the positions along `axis` that the second (i32) gives; a position out of range gives 0. Axes that both have are aligned.",
		Class: Indexed, MinArgs: 2, MaxArgs: 2,
		Attrs: []AttrSpec{{"axis", ir.Name(""), true}},
		Infer: inferGather,
		Grad: grad1(func(b *Builder, o *ir.Op, g *ir.Value) *ir.Value {
			attrs := ir.A("axis", ir.Name(o.Attrs.Text("axis")), "out", sizesOf(o.Args[0].Type))
			return b.Emit("scatter_add", attrs, g, o.Args[1])
		}),
		Shard: ruleGather, Positions: alongAxis, Linear: Linearity{In: [][]int{{0}}}, Eval: evalGather, Flops: noFlops, Sample: sampleGather,
	})
	Register(&Def{
		Name: "scatter_add", Word: "scatter", Doc: "Zeros with axes `out`, to which the first operand is added at the positions along `axis` that the second (i32) gives; a position out of range is dropped. The adjoint of gather.",
		Class: Indexed, MinArgs: 2, MaxArgs: 2,
		Attrs: []AttrSpec{{"axis", ir.Name(""), true}, {"out", ir.Sizes(nil), true}},
		Infer: inferScatterAdd,
		Grad: grad1(func(b *Builder, o *ir.Op, g *ir.Value) *ir.Value {
			r := b.Emit("gather", ir.A("axis", ir.Name(o.Attrs.Text("axis"))), g, o.Args[1])
			return b.Reorder(r, o.Args[0].Type)
		}),
		Shard: ruleScatterAdd, Positions: alongAxis, Linear: Linearity{In: [][]int{{0}}}, Eval: evalScatterAdd, Sample: sampleScatterAdd, Localize: localSizes("out"),
		Flops: func(o *ir.Op) int64 { return int64(o.Args[0].Type.Elems()) },
	})
}

func checkIndex(name string, idx ir.Type, axis string) error {
	if idx.DType != ir.I32 {
		return &ShapeError{Msg: fmt.Sprintf("the index of `%s` is %s", name, idx.DType), Want: "i32"}
	}
	if idx.Has(axis) {
		e := axisErr(axis, "the index has axis `%s`, which it looks up", axis)
		e.Want = "an index without it; `rename` it first"
		return e
	}
	return nil
}

func inferGather(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	x, idx, axis := args[0], args[1], attrs.Text("axis")
	at := x.Index(axis)
	if at < 0 {
		return nil, unknownAxis(axis, x)
	}
	if err := checkIndex("gather", idx, axis); err != nil {
		return nil, err
	}
	var by []ir.Axis
	for _, a := range idx.Axes {
		switch i := x.Index(a.Name); {
		case i < 0:
			by = append(by, a)
		case x.Axes[i].Size != a.Size:
			return nil, axisErr(a.Name, "axis `%s` is %d in the operand and %d in the index", a.Name, x.Axes[i].Size, a.Size)
		}
	}
	return one(replaceAxes(x, at, 1, by))
}

func inferScatterAdd(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	upd, idx, axis := args[0], args[1], attrs.Text("axis")
	if err := wantKind("scatter_add", upd, numbers); err != nil {
		return nil, err
	}
	if err := checkIndex("scatter_add", idx, axis); err != nil {
		return nil, err
	}
	t := ir.Type{DType: upd.DType}
	for _, s := range attrs.Sizes("out") {
		a := ir.Axis{Name: s.Name, Size: s.N}
		if i := upd.Index(s.Name); i >= 0 && s.Name != axis {
			a.Mesh = append([]string(nil), upd.Axes[i].Mesh...)
		}
		t.Axes = append(t.Axes, a)
	}
	if !t.Has(axis) {
		return nil, unknownAxis(axis, t)
	}
	if upd.Has(axis) {
		return nil, axisErr(axis, "the update has axis `%s`, along which it is to be added", axis)
	}
	// The update has exactly the axes of the index and of the result less axis.
	want, err := align([]ir.Type{{Axes: idx.Axes}, t.Drop(axis)})
	if err != nil {
		return nil, err
	}
	w := ir.Type{Axes: want}
	for _, a := range w.Axes {
		if !upd.Has(a.Name) {
			return nil, axisErr(a.Name, "the update lacks axis `%s`", a.Name)
		}
		if n := upd.Size(a.Name); n != a.Size {
			return nil, axisErr(a.Name, "axis `%s` is %d in the update and %d in the index or `out`", a.Name, n, a.Size)
		}
	}
	if extra := without(upd.Names(), w.Names()...); len(extra) > 0 {
		e := unknownAxis(extra[0], w)
		e.Msg = fmt.Sprintf("neither the index nor `out` has axis `%s` of the update", extra[0])
		return nil, e
	}
	return one(t)
}
