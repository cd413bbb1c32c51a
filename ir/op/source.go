package op

import (
	"fmt"

	"ptc/ir"
)

// Sources: const, index, random.

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
			if d == ir.I32 && v != float64(int32(v)) || d == ir.Bool && v != 0 && v != 1 {
				return nil, &ShapeError{Msg: fmt.Sprintf("%v is not a value of %s", ir.Float(v), d)}
			}
			return one(ir.Scalar(d))
		},
	})
	Register(&Def{
		Name: "index", Doc: "The global position along `axis`, as i32; `mesh` is the axis' sharding where `size` is local.",
		Class: Source,
		Attrs: []AttrSpec{{"axis", ir.Name(""), true}, {"size", ir.Int(0), true}, {"mesh", ir.Names(nil), false}},
		Infer: func(_ []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
			a := ir.Axis{Name: attrs.Text("axis"), Size: int(attrs.Int("size", 0)), Mesh: attrs.Names("mesh")}
			return one(ir.Type{DType: ir.I32, Axes: cloneAxes(a)})
		},
	})
	Register(&Def{
		Name: "random", Doc: "Numbers of distribution `dist` from operands seed and step, keyed by `site` and the global position of each element; `mesh` pairs axes with their sharding where sizes are local.",
		Class: Source, MinArgs: 2, MaxArgs: 2,
		Attrs: []AttrSpec{{"axes", ir.Sizes(nil), true}, {"dist", ir.Name(""), true}, {"site", ir.Int(0), true}, {"mesh", ir.Pairs(nil), false}},
		Infer: inferRandom,
	})
}

func inferRandom(args []ir.Type, attrs ir.Attrs) ([]ir.Type, error) {
	for i, t := range args {
		if t.DType != ir.I32 || t.Rank() != 0 {
			return nil, &ShapeError{Msg: fmt.Sprintf("operand %d of `random` is %s", i+1, t), Want: "the seed and the step, each an i32 scalar"}
		}
	}
	if d := attrs.Text("dist"); d != "uniform" && d != "normal" {
		return nil, &ShapeError{Msg: fmt.Sprintf("unknown distribution `%s`", d), Want: "`uniform` or `normal`", Candidates: []string{"uniform", "normal"}}
	}
	t := ir.Type{DType: ir.F32}
	for _, s := range attrs.Sizes("axes") {
		t.Axes = append(t.Axes, ir.Axis{Name: s.Name, Size: s.N})
	}
	for _, p := range attrs.Pairs("mesh") {
		i := t.Index(p.From)
		if i < 0 {
			return nil, unknownAxis(p.From, t)
		}
		t.Axes[i].Mesh = append(t.Axes[i].Mesh, p.To)
	}
	return one(t)
}
