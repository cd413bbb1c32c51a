package fusion

import (
	"ptc/ir"
	"ptc/ir/op"
)

// Coordinates is the path of the argument that holds the device's coordinates, an i32
// for each mesh axis in the order of the function's attribute `mesh`. Operations that
// depend on the device read it without naming it.
const Coordinates = "coord"

// MeshAxis is the size of an axis of the mesh of f and its place in the mesh; 1 and -1 where the
// mesh lacks it.
func MeshAxis(f *ir.Func, name string) (size, at int) {
	for i, a := range f.Attrs.Sizes("mesh") {
		if a.Name == name {
			return a.N, i
		}
	}
	return 1, -1
}

// Shards is how many shards axis a of a value of f has.
func Shards(f *ir.Func, a ir.Axis) int {
	n := 1
	for _, m := range a.Mesh {
		size, _ := MeshAxis(f, m)
		n *= size
	}
	return n
}

// Scattered reports whether a device has several runs of positions, longer than 1, along axis i of
// source o: then the numbers of its elements are at no constant distance.
func Scattered(f *ir.Func, o *ir.Op, i int) bool {
	a := o.Result().Type.Axes[i]
	length, _ := op.RunOf(o, i, Shards(f, a))
	return length > 1 && length%max(1, a.Size) != 0
}

// Numbering views the elements that a device computes of source o as they are numbered in the
// entire tensor. A scattered axis has the stride of the entire tensor.
func Numbering(f *ir.Func, o *ir.Op) op.Strided {
	t := o.Result().Type
	all := t.Clone()
	all.Pad = 0 // elements are numbered, not places
	for i, a := range t.Axes {
		all.Axes[i].Size = op.WholeOf(o, i, Shards(f, a))
	}
	v := op.Dense(all)
	for i, a := range t.Axes {
		v.Axes[i].Size = a.Size
		v.Offset += op.FirstOf(o, i) * v.Axes[i].Stride
		if length, apart := op.RunOf(o, i, Shards(f, a)); length == 1 {
			v.Axes[i].Stride *= apart
		}
	}
	return v
}
