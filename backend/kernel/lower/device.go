package lower

import (
	"fmt"
	"slices"

	"ptc/backend/kernel"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// onDevice refuses a kernel that depends on the device and is not told which one it is.
func onDevice(f *ir.Func) error {
	if len(f.Attrs.Sizes("mesh")) == 0 || slices.ContainsFunc(f.Args, func(a *ir.Arg) bool { return a.Path == fusion.Coordinates }) {
		return nil
	}
	for _, o := range f.Ops {
		if op.DependsOnDevice(o) {
			return fmt.Errorf("%s depends on the device, whose coordinates are no argument", o.Name)
		}
	}
	return nil
}

// meshSize is the size of a mesh axis and its place in the mesh.
func (g *gen) meshSize(name string) (size, at int) {
	for i, a := range g.k.F.Attrs.Sizes("mesh") {
		if a.Name == name {
			return a.N, i
		}
	}
	return 1, -1
}

// parts is the number of parts that axis a is cut into.
func (g *gen) parts(a ir.Axis) int {
	n := 1
	for _, m := range a.Mesh {
		size, _ := g.meshSize(m)
		n *= size
	}
	return n
}

// coordinate is the device's position among those that differ only on the mesh
// axes, major to minor: an i32 scalar.
func (g *gen) coordinate(over []string) *kernel.Value {
	b := g.b
	sum := b.ConstInt(kernel.Scalar(kernel.I32), 0)
	for _, m := range over {
		size, at := g.meshSize(m)
		if at < 0 || g.coords == nil {
			continue
		}
		c := b.Load(g.coords.At(kernel.Int(int64(at))), 1)
		sum = b.Add(b.Mul(sum, b.ConstInt(sum.Type, int64(size))), c)
	}
	return sum
}

// offset is the global position of the first element that this device holds of
// axis a: an i32 scalar, or nil where the axis is not sharded.
func (g *gen) offset(a ir.Axis) *kernel.Value {
	if len(a.Mesh) == 0 {
		return nil
	}
	c := g.coordinate(a.Mesh)
	return g.b.Mul(c, g.b.ConstInt(c.Type, int64(a.Size)))
}
