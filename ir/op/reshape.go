package op

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/ir/tensor"
)

// Movement within an axis: split and merge.

func init() {
	Register(&Def{
		Name: "split", Word: "split", Doc: "The operand with `axis` replaced by the axes `into`, major first.",
		Class: Movement, Linear: Linearity{All: true}, MinArgs: 1, MaxArgs: 1,
		Attrs: []AttrSpec{{"axis", ir.Name(""), true}, {"into", ir.Sizes(nil), true}},
		Infer: inferSplit,
		Grad: grad1(func(b *Builder, o *ir.Op, g *ir.Value) *ir.Value {
			name, attrs := Of(o).Inverse(o)
			return b.Emit(name, attrs, g)
		}),
		Shard: ruleSplit, Eval: evalSame, Flops: noFlops, Sample: sampleSplit,
		View: viewSplit, Localize: localSizes("into"), Divide: divideSplit,
		Inverse: func(o *ir.Op) (string, ir.Attrs) {
			var parts ir.Names
			for _, s := range o.Attrs.Sizes("into") {
				parts = append(parts, s.Name)
			}
			return "merge", ir.A("axes", parts, "into", ir.Name(o.Attrs.Text("axis")))
		},
	})
	Register(&Def{
		Name: "merge", Word: "merge", Doc: "The operand with the neighbouring `axes` replaced by one, the first one major.",
		Class: Movement, Linear: Linearity{All: true}, MinArgs: 1, MaxArgs: 1,
		Attrs: []AttrSpec{{"axes", ir.Names(nil), true}, {"into", ir.Name(""), true}},
		Infer: inferMerge,
		Grad: grad1(func(b *Builder, o *ir.Op, g *ir.Value) *ir.Value {
			var parts ir.Sizes
			for _, n := range o.Attrs.Names("axes") {
				parts = append(parts, ir.SizeOf{Name: n, N: o.Args[0].Type.Size(n)})
			}
			return b.Emit("split", ir.A("axis", ir.Name(o.Attrs.Text("into")), "into", parts), g)
		}),
		Shard: ruleMerge, Eval: evalSame, Flops: noFlops, Sample: sampleMerge,
		View: viewMerge, Divide: divideMerge,
	})
}

func inferSplit(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	x, axis, into := args[0], attrs.Text("axis"), attrs.Sizes("into")
	at := x.Index(axis)
	if at < 0 {
		return nil, unknownAxis(axis, x)
	}
	if len(into) == 0 {
		return nil, axisErr(axis, "`split` of axis `%s` names no parts", axis)
	}
	n := 1
	var parts []ir.Axis
	var text []string
	for i, s := range into {
		if n *= s.N; n > x.Axes[at].Size {
			n = x.Axes[at].Size + 1 // too many already; keeps it from overflowing
		}
		p := ir.Axis{Name: s.Name, Size: s.N}
		if i == 0 { // the major part keeps the sharding
			p.Mesh = append([]string(nil), x.Axes[at].Mesh...)
		}
		if x.Has(s.Name) && s.Name != axis {
			return nil, axisErr(s.Name, "the operand already has an axis `%s`", s.Name)
		}
		parts = append(parts, p)
		text = append(text, fmt.Sprintf("`%s`=%d", s.Name, s.N))
	}
	if n != x.Axes[at].Size {
		e := axisErr(axis, "axis `%s` is %d, which is not %s", axis, x.Axes[at].Size, strings.Join(text, " × "))
		e.Want = "parts whose product is the axis' size"
		return nil, e
	}
	return one(replaceAxes(x, at, 1, parts))
}

func inferMerge(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	x, axes, into := args[0], attrs.Names("axes"), attrs.Text("into")
	if len(axes) == 0 {
		return nil, &ShapeError{Msg: "`merge` names no axes"}
	}
	for _, n := range axes {
		if !x.Has(n) {
			return nil, unknownAxis(n, x)
		}
	}
	at := x.Index(axes[0])
	whole := ir.Axis{Name: into, Size: 1, Mesh: append([]string(nil), x.Axes[at].Mesh...)}
	for i, n := range axes {
		if x.Index(n) != at+i {
			e := axisErr(n, "axes %s are not neighbours in that order in [%s]", strings.Join(axes, ", "), strings.Join(x.Names(), ", "))
			e.Want = "neighbours; reorder them with `transpose` first"
			return nil, e
		}
		whole.Size *= x.Axes[at+i].Size
	}
	if x.Has(into) && !slices.Contains(axes, into) {
		return nil, axisErr(into, "the operand already has an axis `%s`", into)
	}
	return one(replaceAxes(x, at, len(axes), []ir.Axis{whole}))
}

// replaceAxes is x with n axes from position at on replaced by others.
func replaceAxes(x ir.Type, at, n int, by []ir.Axis) ir.Type {
	t := ir.Type{DType: x.DType}
	t.Axes = append(t.Axes, cloneAxes(x.Axes[:at]...)...)
	t.Axes = append(t.Axes, cloneAxes(by...)...)
	t.Axes = append(t.Axes, cloneAxes(x.Axes[at+n:]...)...)
	return t
}

// ruleSplit maps the axis to its major part: only whole runs of the minor
// parts stay on one device.
func ruleSplit(o *ir.Op) Rule {
	axis, into := o.Attrs.Text("axis"), o.Attrs.Sizes("into")
	var minor []string
	for _, s := range into[1:] {
		minor = append(minor, s.Name)
	}
	rule := mapped(o, func(n string) string {
		if n == axis {
			return into[0].Name
		}
		return n
	}, minor...)
	if len(into) == 2 {
		withMinor(rule, axis, into[1].N, []string{axis}, []string{into[1].Name})
	}
	return rule
}

// withMinor gives the factor of an operand's axis a minor part.
func withMinor(rule Rule, axis string, size int, args, results []string) {
	for i := range rule.Factors {
		if f := &rule.Factors[i]; f.Args[0] == axis {
			f.Minor = &Factor{Kind: PassThrough, Size: size, Args: args, Results: results}
		}
	}
}

func ruleMerge(o *ir.Op) Rule {
	axes, into := o.Attrs.Names("axes"), o.Attrs.Text("into")
	rule := mapped(o, func(n string) string {
		switch {
		case n == axes[0]:
			return into
		case slices.Contains(axes, n):
			return ""
		}
		return n
	})
	if len(axes) == 2 {
		withMinor(rule, axes[0], o.Args[0].Type.Size(axes[1]), []string{axes[1]}, []string{into})
	}
	return rule
}

// divideSplit: where a device has one element of the major part, that part's
// global index is a coordinate, on the first of the mesh axes that the whole is
// cut over. The minor part is then cut over the others.
//
//	a = 12 over (n, e), n = 2, e = 3   →   x = 2 over n, y = 6 over e
func divideSplit(o *ir.Op, parts func(ir.Axis) int) []ir.Axis {
	axis, into := o.Attrs.Text("axis"), o.Attrs.Sizes("into")
	if len(into) != 2 {
		return nil
	}
	whole, by := o.Args[0].Type, o.Result().Type.Clone()
	i := whole.Index(axis)
	if into[0].N != parts(by.Axes[i]) || !slices.Equal(slices.Concat(by.Axes[i].Mesh, by.Axes[i+1].Mesh), whole.Axes[i].Mesh) {
		return nil
	}
	return replaceAxes(whole, i, 1, by.Axes[i:i+2]).Axes
}

// divideMerge is the way back.
func divideMerge(o *ir.Op, parts func(ir.Axis) int) []ir.Axis {
	axes, x := o.Attrs.Names("axes"), o.Args[0].Type
	if len(axes) != 2 {
		return nil
	}
	i := x.Index(axes[0])
	major, minor := x.Axes[i], x.Axes[i+1]
	if major.Size != parts(major) {
		return nil
	}
	whole := ir.Axis{Name: o.Attrs.Text("into"), Size: major.Size * minor.Size, Mesh: slices.Concat(major.Mesh, minor.Mesh)}
	return replaceAxes(x, i, 2, []ir.Axis{whole}).Axes
}

func sampleSplit(r *rand.Rand) Example {
	x := anyTensor(r, anyType.sample(r), 1)
	a := x.Type.Axes[r.Intn(x.Type.Rank())]
	major := 1
	for _, n := range []int{2, 4} {
		if a.Size%n == 0 && r.Intn(3) > 0 {
			major = n
		}
	}
	into := ir.Sizes{{Name: "x", N: major}, {Name: "y", N: a.Size / major}}
	if r.Intn(4) == 0 {
		into[r.Intn(2)].Name = a.Name // a part may keep the name
	}
	return Example{Args: []*tensor.Tensor{x}, Attrs: ir.A("axis", ir.Name(a.Name), "into", into)}
}

func sampleMerge(r *rand.Rand) Example {
	x := anyTensor(r, anyType.sample(r), 1)
	n := x.Type.Names()
	lo := r.Intn(len(n))
	hi := lo + 1 + r.Intn(len(n)-lo)
	into := "x"
	if r.Intn(4) == 0 {
		into = n[lo]
	}
	return Example{Args: []*tensor.Tensor{x}, Attrs: ir.A("axes", ir.Names(n[lo:hi]), "into", ir.Name(into))}
}
