package op_test

import (
	"fmt"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
)

// TestRefineMesh: a mesh axis is its parts in all types and in the metadata, also
// where it is itself a part; types that another module shares stay as they are.
func TestRefineMesh(t *testing.T) {
	f := &ir.Func{Name: "f"}
	typ := ir.Type{DType: ir.F32, Axes: []ir.Axis{{Name: "a", Size: 16, Mesh: []string{"y", "x"}}}, Partial: []ir.Partial{{Mesh: "z", Reduce: "max"}}}
	v := f.AddArg(typ, ir.RoleData, "x", nil, diag.Pos{})
	at := f.NewOp("coordinate", nil, ir.A("over", ir.Names{"y", "x"}), ir.Scalar(ir.I32))
	f.Ops = append(f.Ops, at)
	m := &ir.Module{Level: ir.Sharded, Mesh: []ir.MeshAxis{{Name: "x", Size: 8}, {Name: "y", Size: 2}, {Name: "z", Size: 4}}, Funcs: []*ir.Func{f}}
	op.RefineMesh(m, "x", []ir.MeshAxis{{Name: "x_1", Size: 4}, {Name: "x_2", Size: 2}})
	op.RefineMesh(m, "x_1", []ir.MeshAxis{{Name: "x_1_1", Size: 2}, {Name: "x_1_2", Size: 2}})
	op.RefineMesh(m, "z", []ir.MeshAxis{{Name: "z_1", Size: 2}, {Name: "z_2", Size: 2}})
	for _, c := range []struct{ got, want any }{
		{v.Type, "f32[a=16@y@x_1_1@x_1_2@x_2] partial(max z_1, max z_2)"},
		{typ, "f32[a=16@y@x] partial(max z)"},
		{at.Attrs, " over=(y, x_1_1, x_1_2, x_2)"},
		{m.Mesh, "[{x_1_1 2} {x_1_2 2} {x_2 2} {y 2} {z_1 2} {z_2 2}]"},
		{m.MetaTerm("refined"), "refined(x_1_1=x, x_1_2=x, x_2=x, z_1=z, z_2=z)"},
		{op.PartsOf(m, "x"), "[x_1_1 x_1_2 x_2]"},
		{op.PartsOf(m, "y"), "[y]"},
		{op.DeclaredOver(m, []string{"y", "x_1_1", "x_1_2", "x_2", "z_2"}), "[y x z_2]"},
		{op.DeclaredOver(m, []string{"x_1_2", "x_1_1", "x_2"}), "[x_1_2 x_1_1 x_2]"},
	} {
		if got := fmt.Sprint(c.got); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}
