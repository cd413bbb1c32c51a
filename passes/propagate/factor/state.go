package factor

import (
	"slices"

	"ptc/ir"
)

// Mesh is the mesh axes that may shard, in the one order in which an axis is sharded
// over several of them, major first.
type Mesh []ir.MeshAxis

// Size is the size of a mesh axis, 1 where there is none of the name.
func (m Mesh) Size(name string) int {
	for _, a := range m {
		if a.Name == name {
			return a.Size
		}
	}
	return 1
}

// Shards is the number of shards of an axis that is sharded over these mesh axes.
func (m Mesh) Shards(over []string) int {
	n := 1
	for _, name := range over {
		n *= m.Size(name)
	}
	return n
}

// Fits reports whether axis a divides into the shards of these mesh axes, too.
func (m Mesh) Fits(a ir.Axis, more ...string) bool {
	return a.Size%(m.Shards(a.Mesh)*m.Shards(more)) == 0
}

// Sorted is these mesh axes in the order of the mesh.
func (m Mesh) Sorted(over []string) (out []string) {
	for _, a := range m {
		if slices.Contains(over, a.Name) {
			out = append(out, a.Name)
		}
	}
	return out
}

// sorted is what a value is partial over in the order of the mesh, so that equal
// states print alike.
func (m Mesh) sorted(partial []ir.Partial) (out []ir.Partial) {
	for _, a := range m {
		for _, x := range partial {
			if x.Mesh == a.Name {
				out = append(out, x)
			}
		}
	}
	return out
}

// Bytes is the size of one device's shard of a value of type t.
func (m Mesh) Bytes(t ir.Type) int64 {
	n := int64(t.Bytes())
	for _, a := range t.Axes {
		n /= int64(m.Shards(a.Mesh))
	}
	return n
}

// Over reports whether an axis of t is sharded over m.
func Over(t ir.Type, m string) bool {
	return slices.ContainsFunc(t.Axes, func(a ir.Axis) bool { return slices.Contains(a.Mesh, m) })
}

// Along reports whether this axis of t is sharded over m.
func Along(t ir.Type, axis, m string) bool {
	i := t.Index(axis)
	return i >= 0 && slices.Contains(t.Axes[i].Mesh, m)
}

// Partial reports whether t is partial over m.
func Partial(t ir.Type, m string) bool {
	return slices.ContainsFunc(t.Partial, func(x ir.Partial) bool { return x.Mesh == m })
}

// PartialSum reports whether t is a partial sum over m.
func PartialSum(t ir.Type, m string) bool {
	return slices.Contains(t.Partial, ir.Partial{Mesh: m, Reduce: "sum"})
}

// Replicated is t on every device in full.
func Replicated(t ir.Type) ir.Type {
	t.Axes = slices.Clone(t.Axes)
	for i := range t.Axes {
		t.Axes[i].Mesh = nil
	}
	t.Partial = nil
	return t
}

// Reduced is t where its partial sums have been added up: sharded as before.
func Reduced(t ir.Type) ir.Type {
	t = t.Clone()
	t.Partial = nil
	return t
}

// alike reports whether a and b, of one tensor, are in the same state over m.
func alike(a, b ir.Type, m string) bool {
	return Partial(a, m) == Partial(b, m) && slices.EqualFunc(a.Axes, b.Axes, func(x, y ir.Axis) bool {
		return slices.Contains(x.Mesh, m) == slices.Contains(y.Mesh, m)
	})
}

// extend shards an axis of t, if there is one of the name, over mesh axes that are
// minor to those that shard it already.
func extend(t ir.Type, axis string, mesh []string) {
	if axis != "" && len(mesh) > 0 {
		a := &t.Axes[t.Index(axis)]
		a.Mesh = append(a.Mesh[:len(a.Mesh):len(a.Mesh)], mesh...)
	}
}
