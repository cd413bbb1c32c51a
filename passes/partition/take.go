package partition

import (
	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/op"
)

// take expands an exchange of positions along an axis: a permute among the
// devices that have one position each, or, where the axis is whole on every
// device, slices one after the other.
func (p *partitioner) take(o *ir.Op, v *ir.Value) *ir.Value {
	axis, sources := o.Attrs.Text("axis"), ir.Ints(o.Attrs.Ints("sources"))
	if mesh := v.Type.Axes[v.Type.Index(axis)].Mesh; len(mesh) > 0 {
		return p.b.Emit(collective.Permute, ir.A("axis", ir.Name(axis), "over", ir.Names(mesh), "sources", sources), v)
	}
	var parts []*ir.Value
	for _, attrs := range op.Runs(axis, sources) {
		parts = append(parts, p.b.EmitStated(op.Slice, attrs, v))
	}
	return p.b.EmitStated(op.Concat, ir.A("axis", ir.Name(axis)), parts...)
}
