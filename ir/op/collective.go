package op

import (
	"fmt"
	"slices"
	"strings"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/tensor"
)

// Collectives exchange data among the devices that differ only in their
// coordinates on the mesh axes `over` (major to minor), `parts` in number.
// They exist from the Local level on, after autodiff.

func init() {
	two := ir.A("over", ir.Names{"d"}, "parts", ir.Int(2)) // of samples
	over := AttrSpec{"over", ir.Names(nil), true}
	parts := AttrSpec{"parts", ir.Int(0), true}
	axis := AttrSpec{"axis", ir.Name(""), true}
	// One operand is cut or joined along `axis`; of a bucket, each along its own of `axes`.
	one, each := AttrSpec{"axis", ir.Name(""), false}, AttrSpec{"axes", ir.Names(nil), false}
	reduce := AttrSpec{"reduce", ir.Name(""), true}
	why := AttrSpec{"why", ir.Str(""), false} // which rule asked for it
	Register(&Def{
		Name: collective.AllReduce, Doc: "The `reduce` (sum or max) of the operands of all devices of the group, on each; of several operands, in one exchange.",
		Class: Collective, MinArgs: 1, MaxArgs: -1, Traits: Exchanges | Reduces | Starts | SameValue,
		Attrs: []AttrSpec{over, reduce, why},
		Infer: amongGroup(inferAllReduce), Shard: replicated, State: eachOperand(requirePartial), Eval: evalAllReduce,
		Flops: flopsPer(1), Sample: sampleCollective(ir.A("over", ir.Names{"d"}, "reduce", ir.Name("sum")), false, false),
	})
	Register(&Def{
		Name: collective.AllGather, Doc: "The parts of `axis` from all devices of the group, in order, on each; of several operands, in one exchange.",
		Class: Collective, MinArgs: 1, MaxArgs: -1, Traits: Exchanges | Gathers | Starts | SameValue,
		Attrs: []AttrSpec{over, parts, one, each, why},
		Infer: amongGroup(inferAllGather), Shard: replicated, State: eachOperand(shardedLast), Eval: evalAllGather,
		Flops: noFlops, Sample: sampleCollective(two, true, false),
	})
	Register(&Def{
		Name: collective.ReduceScatter, Doc: "Each device's part along `axis` of the `reduce` (sum or max) over the group; of several operands, in one exchange.",
		Class: Collective, MinArgs: 1, MaxArgs: -1, Traits: Exchanges | Reduces | Scatters | Starts | SameValue,
		Attrs: []AttrSpec{over, parts, one, each, reduce, why},
		Infer: amongGroup(inferReduceScatter), Shard: replicated, State: eachOperand(requirePartial), Eval: evalReduceScatter,
		Flops: flopsPer(1), Sample: sampleCollective(two.With("reduce", ir.Name("max")), true, false),
	})
	Register(&Def{
		Name: collective.AllToAll, Doc: "The operand sharded along `axis` made whole there and sharded along `to` instead.",
		Class: Collective, MinArgs: 1, MaxArgs: 1, Traits: Exchanges | Gathers | Scatters | Starts | SameValue,
		Attrs: []AttrSpec{over, parts, axis, {"to", ir.Name(""), true}, why},
		Infer: amongGroup(inferAllToAll), Shard: replicated, State: eachOperand(shardedLast), Eval: evalAllToAll,
		Flops: noFlops, Sample: sampleCollective(two, true, true),
	})
	Register(&Def{
		Name: collective.Permute, Doc: "Device i of the group receives the operand of device `sources`[i], zeros for -1. With `axis`, of which each device has one position, it is a `take` along it. With `mesh`, pairs of axes and mesh axes, rather than `sources`: the operand in this sharding.",
		Class: Collective, MinArgs: 1, MaxArgs: 1, Traits: Exchanges | Starts,
		Attrs: []AttrSpec{over, {"sources", ir.Ints(nil), false}, {"mesh", ir.Pairs(nil), false}, {"axis", ir.Name(""), false}, why},
		Infer: amongGroup(inferPermute), Shard: replicated, State: eachOperand(permutes), Eval: evalPermute,
		Flops: noFlops, Sample: sampleCollective(ir.A("over", ir.Names{"d"}, "sources", ir.Ints{1, -1}), false, false),
	})
	Register(&Def{
		Name: collective.ShardSlice, Doc: "This device's part along `axis` of a value that all devices of the group hold; nothing is sent.",
		Class: Collective, MinArgs: 1, MaxArgs: 1, Traits: Scatters | SameValue,
		Attrs: []AttrSpec{over, parts, axis, why},
		Infer: amongGroup(inferShardSlice), Shard: replicated, State: eachOperand(wholeOver), Eval: evalShardSlice,
		Flops: noFlops, Sample: sampleCollective(two, true, false),
	})
	Register(&Def{
		Name: collective.Done, Doc: "The operands, results of one collective with `start`, once that is complete.",
		Class: Collective, MinArgs: 1, MaxArgs: -1, Traits: Completes | SameValue,
		Infer: func(args []ir.Type, _ ir.Attrs) ([]ir.Type, error) { return cloned(args), nil },
		Shard: replicated, State: eachOperand(anyState), Eval: func(_ *Context, _ *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) { return args, nil },
		Flops: noFlops, Sample: sampleCollective(nil, false, false),
	})
}

// Collective emits a collective of this name over mesh axes of m; kv are its other
// attributes. Over none it is v.
func (b *Builder) Collective(m *ir.Module, name string, v *ir.Value, over []string, kv ...any) *ir.Value {
	if len(over) == 0 {
		return v
	}
	attrs := ir.A(kv...).With("over", ir.Names(slices.Clone(over)))
	if Lookup(name).Takes("parts") {
		attrs = attrs.With("parts", ir.Int(m.Group(over)))
	}
	return b.Emit(name, attrs, v)
}

// SplitSharded splits an axis of v, along which it is sharded, into a major part and
// the rest, which keeps the name; minor is what shards that. In memory nothing moves.
func (b *Builder) SplitSharded(v *ir.Value, axis string, major ir.Axis, minor []string) (*ir.Value, string) {
	for v.Type.Has(major.Name) {
		major.Name += "_"
	}
	rest := ir.Axis{Name: axis, Size: v.Type.Size(axis) / major.Size, Mesh: slices.Clone(minor)}
	w := b.Emit(Split, ir.A("axis", ir.Name(axis), "into", ir.Sizes{{Name: major.Name, N: major.Size}, {Name: axis, N: rest.Size}}), v)
	w.Type = v.Type.Clone()
	at := w.Type.Index(axis)
	major.Mesh = slices.Clone(major.Mesh)
	w.Type.Axes = slices.Replace(w.Type.Axes, at, at+1, major, rest)
	return w, major.Name
}

// MergeSharded undoes [Builder.SplitSharded]; mesh is what shards the axis then.
func (b *Builder) MergeSharded(v *ir.Value, major, axis string, mesh []string) *ir.Value {
	w := b.Emit(Merge, ir.A("axes", ir.Names{major, axis}, "into", ir.Name(axis)), v)
	w.Type.Partial = slices.Clone(v.Type.Partial)
	w.Type.Axes[w.Type.Index(axis)].Mesh = slices.Clone(mesh)
	return w
}

func cloned(types []ir.Type) []ir.Type {
	out := make([]ir.Type, len(types))
	for i, t := range types {
		out[i] = t.Clone()
	}
	return out
}

// CollectiveAxis is the axis along which operand i of a collective is cut or
// joined; empty where none is.
func CollectiveAxis(o *ir.Op, i int) string { return axisOf(o.Attrs, i) }

func axisOf(attrs ir.Attrs, i int) string {
	if axes := attrs.Names("axes"); i < len(axes) {
		return axes[i]
	}
	return attrs.Text("axis")
}

// alongAxes checks that each operand has its axis: `axis` of one, `axes` of
// several.
func alongAxes(args []ir.Type, attrs ir.Attrs) error {
	axes := attrs.Names("axes")
	switch {
	case len(axes) == 0 && !attrs.Has("axis"):
		return &ShapeError{Msg: "no `axis`", Want: "`axis`, or `axes` with one for each operand"}
	case attrs.Has("axes") && (attrs.Has("axis") || len(axes) != len(args)):
		return &ShapeError{Msg: fmt.Sprintf("%d `axes` for %d operands", len(axes), len(args)), Want: "one for each, and no `axis`"}
	case !attrs.Has("axes") && len(args) > 1:
		return &ShapeError{Msg: fmt.Sprintf("one `axis` for %d operands", len(args)), Want: "`axes`"}
	}
	return nil
}

// group is the mesh axes of a collective, checked.
func group(attrs ir.Attrs) ([]string, error) {
	over := attrs.Names("over")
	if len(over) == 0 {
		return nil, &ShapeError{Msg: "a collective over no mesh axis"}
	}
	if n := repeated(over); n != "" {
		return nil, &ShapeError{Msg: fmt.Sprintf("mesh axis `%s` is named twice", n)}
	}
	if n := attrs.Int("parts", 1); n < 1 || n > 1<<24 {
		return nil, &ShapeError{Msg: fmt.Sprintf("a group of %d devices", n)}
	}
	return over, nil
}

// knownReduction rejects reductions other than sum and max.
func knownReduction(attrs ir.Attrs) error {
	if r := attrs.Text("reduce"); r != "sum" && r != "max" {
		return &ShapeError{Msg: fmt.Sprintf("unknown reduction `%s`", r), Want: "`sum` or `max`", Candidates: []string{"sum", "max"}}
	}
	return nil
}

// reduced is t, no longer partial over the mesh axes.
func reduced(t ir.Type, over []string) ir.Type {
	c := t.Clone()
	c.Partial = nil
	for _, p := range t.Partial {
		if !slices.Contains(over, p.Mesh) {
			c.Partial = append(c.Partial, p)
		}
	}
	return c
}

// gathered makes axis whole over the mesh axes, which must be the minor ones
// of its sharding, where that is recorded: only then are the parts contiguous.
func gathered(t ir.Type, axis string, over []string, parts int) (ir.Type, error) {
	at := t.Index(axis)
	if at < 0 {
		return t, unknownAxis(axis, t)
	}
	c := t.Clone()
	a := &c.Axes[at]
	if len(a.Mesh) > 0 {
		k := len(a.Mesh) - len(over)
		if k < 0 || strings.Join(a.Mesh[k:], "@") != strings.Join(over, "@") {
			return t, axisErr(axis, "axis `%s` is sharded over %s, not last over %s", axis, strings.Join(a.Mesh, ", "), strings.Join(over, ", "))
		}
		a.Mesh = a.Mesh[:k]
	}
	a.Size *= parts
	return c, nil
}

// scattered cuts axis over the mesh axes, which become the minor ones.
func scattered(t ir.Type, axis string, over []string, parts int) (ir.Type, error) {
	at := t.Index(axis)
	if at < 0 {
		return t, unknownAxis(axis, t)
	}
	c := t.Clone()
	a := &c.Axes[at]
	if a.Size%parts != 0 {
		return t, axisErr(axis, "axis `%s` is %d, which %d devices cannot share equally", axis, a.Size, parts)
	}
	a.Size /= parts
	a.Mesh = append(a.Mesh, over...)
	return c, nil
}

// amongGroup checks the group of a collective, and passes its mesh axes and its size to infer.
func amongGroup(infer func(args []ir.Type, attrs ir.Attrs, over []string, parts int) ([]ir.Type, error)) func([]ir.Type, ir.Attrs) ([]ir.Type, error) {
	return func(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
		over, err := group(attrs)
		if err != nil {
			return nil, err
		}
		return infer(args, attrs, over, int(attrs.Int("parts", 1)))
	}
}

// alongEach applies of to each operand and its axis.
func alongEach(args []ir.Type, attrs ir.Attrs, of func(t ir.Type, axis string) (ir.Type, error)) ([]ir.Type, error) {
	out, err := make([]ir.Type, len(args)), alongAxes(args, attrs)
	for i := 0; i < len(args) && err == nil; i++ {
		out[i], err = of(args[i], axisOf(attrs, i))
	}
	return out, err
}

func inferAllReduce(args []ir.Type, attrs ir.Attrs, over []string, _ int) ([]ir.Type, error) {
	out := make([]ir.Type, len(args))
	for i, t := range args {
		out[i] = reduced(t, over)
	}
	return out, knownReduction(attrs)
}

func inferAllGather(args []ir.Type, attrs ir.Attrs, over []string, parts int) ([]ir.Type, error) {
	return alongEach(args, attrs, func(t ir.Type, axis string) (ir.Type, error) { return gathered(t, axis, over, parts) })
}

func inferReduceScatter(args []ir.Type, attrs ir.Attrs, over []string, parts int) ([]ir.Type, error) {
	if err := knownReduction(attrs); err != nil {
		return nil, err
	}
	return alongEach(args, attrs, func(t ir.Type, axis string) (ir.Type, error) { return scattered(reduced(t, over), axis, over, parts) })
}

func inferAllToAll(args []ir.Type, attrs ir.Attrs, over []string, parts int) ([]ir.Type, error) {
	axis, to := attrs.Text("axis"), attrs.Text("to")
	if axis == to {
		return nil, axisErr(axis, "`all_to_all` from axis `%s` to itself", axis)
	}
	t, err := gathered(args[0], axis, over, parts)
	if err != nil {
		return nil, err
	}
	return only(scattered(t, to, over, parts))
}

func inferPermute(args []ir.Type, attrs ir.Attrs, over []string, _ int) ([]ir.Type, error) {
	switch {
	case attrs.Has("mesh") == attrs.Has("sources") || attrs.Has("mesh") && attrs.Has("axis"):
		return nil, &ShapeError{Msg: "`permute` has to say which devices receive from which", Want: "either `sources`, or `mesh` and no `axis`"}
	case attrs.Has("mesh"):
		return only(resharded(args[0], attrs.Pairs("mesh")))
	case len(over) != 1:
		return nil, &ShapeError{Msg: fmt.Sprintf("`permute` over %d mesh axes", len(over)), Want: "one"}
	}
	return only(args[0].Clone(), sourcesErr(attrs.Ints("sources")))
}

func inferShardSlice(args []ir.Type, attrs ir.Attrs, over []string, parts int) ([]ir.Type, error) {
	return only(scattered(args[0], attrs.Text("axis"), over, parts))
}
