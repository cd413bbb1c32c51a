package op

import "ptc/ir"

// DependsOnDevice reports whether o computes something else on each device
// from the same operands: it reads the device's coordinates to know which part
// of the whole it works on.
func DependsOnDevice(o *ir.Op) bool {
	switch Of(o).Class {
	case Source:
		for _, a := range o.Result().Type.Axes {
			if len(a.Mesh) > 0 {
				return true
			}
		}
		return len(o.Args) == 0 && o.Attrs.Has("over")
	case Indexed:
		axis := o.Attrs.Text("axis")
		for _, v := range append([]*ir.Value{o.Result()}, o.Args...) {
			if i := v.Type.Index(axis); i >= 0 && len(v.Type.Axes[i].Mesh) > 0 {
				return true
			}
		}
	}
	return false
}
