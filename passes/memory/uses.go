package memory

import (
	"ptc/ir"
	"ptc/ir/excerpt"
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
	for _, x := range excerpt.Places(f)[len(f.Args):] {
		if x.Memory == ir.Device {
			top = max(top, x.Hull().Hi)
		}
	}
	return top
}
