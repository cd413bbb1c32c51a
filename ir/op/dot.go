package op

import (
	"strings"

	"ptc/ir"
)

func init() {
	Register(&Def{
		Name: "dot", Word: "dot", Doc: "The product summed over the axes `over`; other axes that both operands have are batch axes. `out` orders the result's axes, `to` is its dtype. Sums accumulate in f32, or f64 for f64 operands; operands of f8e4m3 and f8e5m2 may be mixed, and give f32.",
		Class: Contraction, MinArgs: 2, MaxArgs: 2,
		Attrs: []AttrSpec{{"over", ir.Names(nil), true}, {"out", ir.Names(nil), false}, {"to", ir.Name(""), false}},
		Infer: inferDot, Grad: gradDot,
		Shard: reduceRule(sums), Linear: Linearity{In: [][]int{{0}, {1}}}, Eval: evalDot, Flops: flopsDot, Sample: sampleDot,
	})
}

func inferDot(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	a, b := args[0], args[1]
	d, err := dotDType(args)
	if err != nil {
		return nil, err
	}
	if err := wantKind("dot", a, floats); err != nil {
		return nil, err
	}
	over := attrs.Names("over")
	if err := checkOver(a, b, over); err != nil {
		return nil, err
	}
	for _, x := range a.Axes {
		if i := b.Index(x.Name); i >= 0 && b.Axes[i].Size != x.Size {
			return nil, sizesDiffer(x.Name, 2, 0, x.Size, 1, b.Axes[i].Size)
		}
	}
	to, err := dtypeAttr(attrs, "to", d)
	if err != nil {
		return nil, err
	}
	if !to.IsFloat() {
		return nil, &ShapeError{Msg: "the result of `dot` is asked for as " + to.String(), Want: "a float dtype"}
	}
	t := ir.Type{DType: to, Axes: a.Drop(over...).Axes}
	for _, x := range b.Drop(over...).Axes {
		if !t.Has(x.Name) {
			t.Axes = append(t.Axes, cloneAxes(x)...)
		}
	}
	if attrs.Has("out") {
		return only(reordered(t, attrs.Names("out"), "out"))
	}
	return one(t)
}

// dotDType is the dtype of a result of which none is asked for: that of both operands. Floats
// of a byte may be mixed, and their result is f32, since another would need a scale.
func dotDType(args []ir.Type) (ir.DType, error) {
	if args[0].DType.IsScaled() && args[1].DType.IsScaled() {
		return ir.F32, nil
	}
	return sameDType(args)
}

func checkOver(a, b ir.Type, over []string) error {
	if n := repeated(over); n != "" {
		return axisErr(n, "axis `%s` is named twice in `over`", n)
	}
	var shared []string
	for _, n := range a.Names() {
		if b.Has(n) {
			shared = append(shared, n)
		}
	}
	for _, n := range over {
		switch {
		case !a.Has(n) && !b.Has(n):
			return unknownAxis(n, a, b)
		case !a.Has(n) || !b.Has(n):
			who := "left"
			if a.Has(n) {
				who = "right"
			}
			e := axisErr(n, "the %s operand has no axis `%s` to contract over", who, n)
			e.Candidates = shared
			e.Want = "an axis that both operands have"
			return e
		}
	}
	return nil
}

// reordered is t with its axes in the given order, which must be a
// permutation of t's names; key names the attribute in errors.
func reordered(t ir.Type, order []string, key string) (ir.Type, error) {
	if n := repeated(order); n != "" {
		return t, axisErr(n, "axis `%s` is named twice in `%s`", n, key)
	}
	r := ir.Type{DType: t.DType}
	for _, n := range order {
		i := t.Index(n)
		if i < 0 {
			e := unknownAxis(n, t)
			e.Msg = "`" + key + "` names `" + n + "`, which the result does not have"
			return t, e
		}
		r.Axes = append(r.Axes, cloneAxes(t.Axes[i])...)
	}
	if len(order) != t.Rank() {
		miss := without(t.Names(), order...)
		return t, axisErr(miss[0], "`%s` does not name `%s`; it must order all of [%s]", key, miss[0], strings.Join(t.Names(), ", "))
	}
	return r, nil
}

// gradDot contracts the gradient with the other operand over what only the
// other one has; `out` gives the operand's own order, so that no transpose is
// needed.
func gradDot(b *Builder, o *ir.Op, grads []*ir.Value) []*ir.Value {
	if grads[0] == nil {
		return []*ir.Value{nil, nil}
	}
	over := o.Attrs.Names("over")
	d := o.Args[0].Type.DType
	if d.IsScaled() { // the gradient has no scale of its own
		d = ir.F32
	}
	g := b.Cast(grads[0], d)
	side := func(self, other *ir.Value) *ir.Value {
		free := without(other.Type.Names(), append(self.Type.Names(), over...)...)
		x := b.Emit("dot", ir.A("over", ir.Names(free), "out", ir.Names(self.Type.Names())), g, b.Cast(other, d))
		return b.Cast(x, self.Type.DType)
	}
	return []*ir.Value{side(o.Args[0], o.Args[1]), side(o.Args[1], o.Args[0])}
}
