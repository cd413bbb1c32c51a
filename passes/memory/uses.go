package memory

import (
	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// Uses is what the planned functions of m take of each device's own memory, by stage.
func Uses(m *ir.Module) (out []pass.Use) {
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel || f.Name != "step" && f.Of != "step" {
			continue
		}
		for len(out) <= f.Stage.Or(0) {
			out = append(out, pass.Use{})
		}
		persistent := f.Attrs.Int("persistent", 0)
		out[f.Stage.Or(0)] = pass.Use{All: f.Attrs.Int("arena", 0), Step: max(0, end(f)-persistent)}
	}
	return out
}

// end is where the highest buffer of f's operations ends, in the device's own memory.
func end(f *ir.Func) (top int64) {
	memory := op.Memories(f)
	for _, o := range f.Ops {
		for j, lo := range o.At {
			if memory[o.Results[j]] != ir.Device {
				continue
			}
			v, by := o.Results[j], ir.Spread{}
			if j < len(o.Spread) {
				by = o.Spread[j]
			}
			x := family{ir.Device, lo, int64(v.Type.Bytes()), by, v.Count()}
			top = max(top, x.hull().hi)
		}
	}
	return top
}
