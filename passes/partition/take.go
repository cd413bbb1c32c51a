package partition

import "ptc/ir"

// take expands an exchange of positions along an axis: a permute among the
// devices that have one position each, or, where the axis is whole on every
// device, slices one after the other.
func (p *partitioner) take(o *ir.Op, v *ir.Value) *ir.Value {
	axis, sources := o.Attrs.Text("axis"), ir.Ints(o.Attrs.Ints("sources"))
	if mesh := v.Type.Axes[v.Type.Index(axis)].Mesh; len(mesh) > 0 {
		w := p.b.Emit("permute", ir.A("over", ir.Names(mesh), "sources", sources), v)
		p.remark(o, w)
		return w
	}
	var parts []*ir.Value
	for i := 0; i < len(sources); {
		n := 1
		for i+n < len(sources) && sources[i+n] == sources[i]+int64(n) {
			n++
		}
		attrs := ir.A("axis", ir.Name(axis), "start", ir.Int(sources[i]), "limit", ir.Int(sources[i]+int64(n)))
		parts = append(parts, p.b.Emit("slice", attrs, v))
		i += n
	}
	w := p.b.Emit("concat", ir.A("axis", ir.Name(axis)), parts...)
	w.Type = v.Type.Clone()
	return w
}
