package op

import (
	"fmt"
	"math/rand"

	"ptc/internal/dtype"
	"ptc/ir"
	"ptc/ir/tensor"
)

// Sources: const, index, random.

// firstAttr and wholeAttr say that a source is a window of a larger one: where it
// begins on each axis of the result, and the whole's sizes.
var (
	firstAttr = AttrSpec{ir.AttrFirst, ir.Ints(nil), false}
	wholeAttr = AttrSpec{"whole", ir.Ints(nil), false}
)

// Window is attrs of a source with result type t as those of the window of n
// positions from start on of the named axis, of which the whole has size.
func Window(attrs ir.Attrs, t ir.Type, axis string, size, start int) ir.Attrs {
	at, all := make(ir.Ints, t.Rank()), make(ir.Ints, t.Rank())
	copy(at, attrs.Ints(ir.AttrFirst))
	for i, a := range t.Axes {
		all[i] = int64(a.Size)
		if w := attrs.Ints("whole"); len(w) > i {
			all[i] = w[i]
		}
		if a.Name == axis {
			at[i] += int64(start)
			all[i] = int64(size)
		}
	}
	return attrs.With(ir.AttrFirst, at).With("whole", all)
}

// FirstOf is where the window that o is begins on axis i; 0 for a whole.
func FirstOf(o *ir.Op, i int) int {
	if at := o.Attrs.Ints(ir.AttrFirst); i < len(at) {
		return int(at[i])
	}
	return 0
}

// RunOf is how the positions that o has on axis i lie in the whole, along which its result is
// in so many parts: length of them follow one another, and the next begin apart after the
// first of those. A whole or a window is one run.
func RunOf(o *ir.Op, i, parts int) (length, apart int) {
	a := o.Results[0].Type.Axes[i]
	size := a.Size * parts
	for _, r := range o.Attrs.Sizes(ir.AttrRuns) {
		if r.Name == a.Name {
			return r.N, r.N * (WholeOf(o, i, parts) / size)
		}
	}
	return max(1, size), max(1, size)
}

// WholeOf is the size on axis i of what o is a window or, in so many parts, a
// part of.
func WholeOf(o *ir.Op, i, parts int) int {
	if all := o.Attrs.Ints("whole"); i < len(all) {
		return int(all[i])
	}
	return o.Results[0].Type.Axes[i].Size * parts
}

func init() {
	Register(&Def{
		Name: "const", Doc: "The scalar `value`.",
		Class: Source,
		Attrs: []AttrSpec{{"dtype", ir.Name(""), true}, {"value", ir.Float(0), true}},
		Infer: func(_ []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
			d, err := dtypeAttr(attrs, "dtype", ir.F32)
			if err != nil {
				return nil, err
			}
			v := attrs.Float("value", 0)
			if !d.Holds(v) {
				return nil, &ShapeError{Msg: fmt.Sprintf("%v is not a value of %s", ir.Float(v), d)}
			}
			return one(ir.Scalar(d))
		},
		Shard: elemRule,
		Eval: func(_ *Context, o *ir.Op, _ []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return results(tensor.Scalar(o.Result().Type.DType, o.Attrs.Float("value", 0)))
		},
		Flops: noFlops, Sample: sampleConst,
	})
	Register(&Def{
		Name: "index", Word: "index", Doc: "The global position along `axis`, as i32; `mesh` is the axis' sharding where `size` is local.",
		Class: Source,
		Attrs: []AttrSpec{{"axis", ir.Name(""), true}, {"size", ir.Int(0), true}, {"mesh", ir.Names(nil), false}, firstAttr, wholeAttr},
		Infer: func(_ []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
			a := ir.Axis{Name: attrs.Text("axis"), Size: int(attrs.Int("size", 0)), Mesh: attrs.Names("mesh")}
			return one(ir.Type{DType: ir.I32, Axes: cloneAxes(a)})
		},
		Shard: elemRule, Positions: alongAxis,
		Eval: func(c *Context, o *ir.Op, _ []*tensor.Tensor) ([]*tensor.Tensor, error) {
			out := tensor.New(o.Result().Type)
			off := c.Offset(out.Type.Axes[0]) + FirstOf(o, 0)
			for i := range out.Data {
				out.Data[i] = float64(off + i)
			}
			return results(out)
		},
		Flops: noFlops,
		Localize: func(o *ir.Op, results []ir.Type) ir.Attrs {
			a := results[0].Axes[0]
			attrs := o.Attrs.With("size", ir.Int(a.Size)).With("mesh", nil)
			if len(a.Mesh) > 0 {
				attrs = attrs.With("mesh", ir.Names(append([]string(nil), a.Mesh...)))
			}
			return attrs
		},
		Sample: func(r *rand.Rand) Example {
			a := sampleAxes(r, 1)[0]
			return Example{Attrs: ir.A("axis", ir.Name(a.Name), "size", ir.Int(a.Size))}
		},
	})
	Register(&Def{
		Name: "coordinate", Doc: "This device's position among those that differ only on the mesh axes `over` (major to minor); 0 where there are no devices.",
		Class: Source,
		Attrs: []AttrSpec{{"over", ir.Names(nil), true}},
		Infer: func(_ []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
			if _, err := group(attrs); err != nil {
				return nil, err
			}
			return one(ir.Scalar(ir.I32))
		},
		Shard: elemRule,
		Eval: func(c *Context, o *ir.Op, _ []*tensor.Tensor) ([]*tensor.Tensor, error) {
			return results(tensor.Scalar(ir.I32, float64(c.Offset(ir.Axis{Size: 1, Mesh: o.Attrs.Names("over")}))))
		},
		Flops:  noFlops,
		Sample: func(*rand.Rand) Example { return Example{Attrs: ir.A("over", ir.Names{"d"})} },
	})
	Register(&Def{
		Name: "random", Word: "random_normal", Doc: "Numbers of distribution `dist` from operands seed and step, keyed by `site`, to which `each` times the third operand is added, and the global position of each element. `runs` says of an axis that it is a microbatch's: so many of its positions follow one another in the whole, then come those of the other microbatches; the last operand is the number of the microbatch along axis `moves`. `mesh` pairs axes with their sharding where sizes are local.",
		Class: Source, MinArgs: 2, MaxArgs: 4,
		Attrs: []AttrSpec{{"axes", ir.Sizes(nil), true}, {"dist", ir.Name(""), true}, {ir.AttrSite, ir.Int(0), true}, {ir.AttrEach, ir.Int(0), false}, {"mesh", ir.Pairs(nil), false}, firstAttr, wholeAttr, {ir.AttrRuns, ir.Sizes(nil), false}, {ir.AttrMoves, ir.Name(""), false}},
		Infer: inferRandom, Shard: elemRule, Eval: evalRandom,
		Positions: func(o *ir.Op) []string { return o.Result().Type.Names() },
		Flops:     flopsPer(100), Sample: sampleRandom, Localize: localRandom,
	})
}

func inferRandom(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	for i, t := range args {
		if t.DType != ir.I32 || t.Rank() != 0 {
			return nil, &ShapeError{Msg: fmt.Sprintf("operand %d of `random` is %s", i+1, t), Want: "the seed, the step and the number of an instance, each an i32 scalar"}
		}
	}
	if d := attrs.Text("dist"); d != "uniform" && d != "normal" {
		return nil, &ShapeError{Msg: fmt.Sprintf("unknown distribution `%s`", d), Want: "`uniform` or `normal`", Candidates: []string{"uniform", "normal"}}
	}
	t, err := typeOf(attrs)
	if err != nil {
		return nil, err
	}
	for _, r := range attrs.Sizes(ir.AttrRuns) {
		i := t.Index(r.Name)
		if i < 0 {
			return nil, unknownAxis(r.Name, t)
		}
		if all := attrs.Ints("whole"); r.N < 1 || i >= len(all) || t.Axes[i].Size < 1 || all[i]%int64(t.Axes[i].Size) != 0 {
			return nil, &ShapeError{Msg: fmt.Sprintf("runs of %d along `%s`", r.N, r.Name), Want: "runs of at least 1 in a `whole` of which the axis is a part"}
		}
	}
	want := 2
	if attrs.Has(ir.AttrEach) {
		want++
	}
	if moves := attrs.Text(ir.AttrMoves); moves != "" {
		if want++; !t.Has(moves) {
			return nil, unknownAxis(moves, t)
		}
	}
	if len(args) != want {
		return nil, &ShapeError{Msg: fmt.Sprintf("`random` has %d operands", len(args)), Want: fmt.Sprintf("%d, as its attributes say", want)}
	}
	return one(t)
}

// evalRandom draws each element by its global position; tensor.Bits documents
// the mapping.
func evalRandom(c *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	t := o.Result().Type
	value := tensor.Uniform
	if o.Attrs.Text("dist") == "normal" {
		value = tensor.Normal
	}
	seed, count := int32(args[0].Data[0]), int32(args[1].Data[0])
	site := uint64(o.Attrs.Int(ir.AttrSite, 0))
	if o.Attrs.Has(ir.AttrEach) {
		site += uint64(o.Attrs.Int(ir.AttrEach, 0) * int64(args[2].Data[0]))
	}
	out := tensor.New(t)
	numbers := numbersOf(c, o, int(args[len(args)-1].Data[0]))
	for i := range out.Data {
		out.Data[i] = value(tensor.Bits(seed, count, site, uint64(numbers(i))))
	}
	return results(out)
}

// numbersOf are the numbers in the whole of the elements of a random operation on a device,
// by their place in its result.
func numbersOf(c *Context, o *ir.Op, microbatch int) func(i int) int {
	axes := o.Result().Type.Axes
	at, stride := make([][]int, len(axes)), 1 // the part of the number that is an axis', by its position
	for i := len(axes) - 1; i >= 0; i-- {
		parts := c.Parts(axes[i])
		length, apart := RunOf(o, i, parts)
		first := FirstOf(o, i)
		if axes[i].Name == o.Attrs.Text(ir.AttrMoves) {
			first += microbatch * length
		}
		at[i] = make([]int, axes[i].Size)
		for k := range at[i] {
			g := c.Offset(axes[i]) + k
			at[i][k] = stride * (first + g/length*apart + g%length)
		}
		stride *= WholeOf(o, i, parts)
	}
	return func(n int) (number int) {
		for i := len(axes) - 1; i >= 0; i-- {
			number += at[i][n%axes[i].Size]
			n /= axes[i].Size
		}
		return number
	}
}

func localRandom(o *ir.Op, results []ir.Type) ir.Attrs {
	attrs := localSizes("axes")(o, results).With("mesh", nil)
	var mesh ir.Pairs
	for _, a := range results[0].Axes {
		for _, m := range a.Mesh {
			mesh = append(mesh, ir.Pair{From: a.Name, To: m})
		}
	}
	if len(mesh) > 0 {
		attrs = attrs.With("mesh", mesh)
	}
	return attrs
}

func sampleConst(r *rand.Rand) Example {
	all := dtype.Tensors()
	d := all[r.Intn(len(all))]
	return Example{Attrs: ir.A("dtype", ir.Name(d.String()), "value", ir.Float(draw(r, d, 0.1, 2)()))}
}

func sampleRandom(r *rand.Rand) Example {
	dist := ir.Name("uniform")
	if r.Intn(2) == 0 {
		dist = "normal"
	}
	return Example{
		Args:  []*tensor.Tensor{tensor.Scalar(ir.I32, float64(r.Int31())), tensor.Scalar(ir.I32, float64(r.Intn(1000)))},
		Attrs: ir.A("axes", sizesOf(ir.Type{Axes: sampleAxes(r, r.Intn(4))}), "dist", dist, "site", ir.Int(r.Intn(100))),
	}
}
