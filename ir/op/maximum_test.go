package op_test

import (
	"slices"
	"testing"

	"ptc/ir"
	"ptc/ir/op"
)

// TestMaximaStayPartial: the largest of partial maxima is a partial maximum, so that a
// large reduction may be done in steps; of a partial sum it is not.
func TestMaximaStayPartial(t *testing.T) {
	of := func(reduce string) *ir.Value {
		return &ir.Value{Type: ir.Type{DType: ir.F32, Axes: []ir.Axis{{Name: "a", Size: 4}}, Partial: []ir.Partial{{Mesh: "tp", Reduce: reduce}}}}
	}
	for _, c := range []struct {
		name   string
		attrs  ir.Attrs
		reduce string
		args   int
		ok     bool
	}{
		{op.ReduceMax, ir.A("over", ir.Names{"a"}), "max", 1, true},
		{op.ReduceMax, ir.A("over", ir.Names{"a"}), "sum", 1, false},
		{op.Max, nil, "max", 2, true},
		{op.Max, nil, "sum", 2, false},
		{op.Cast, ir.A("to", ir.Name("f32")), "max", 1, true},
		{op.ReduceSum, ir.A("over", ir.Names{"a"}), "max", 1, false},
		{op.Add, nil, "max", 2, false},
	} {
		b := op.Builder{F: &ir.Func{Name: "f"}}
		v := of(c.reduce)
		o := b.Emit(c.name, c.attrs, slices.Repeat([]*ir.Value{v}, c.args)...).Def
		types, err := op.States(o)
		if ok := err == nil && ir.SamePartial(types[0].Partial, v.Type.Partial); ok != c.ok {
			t.Errorf("%s of a partial %s: %v, %v", c.name, c.reduce, types, err)
		}
	}
}
