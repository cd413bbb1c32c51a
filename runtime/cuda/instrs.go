package cuda

import (
	"slices"

	"ptc/internal/collective"
	"ptc/runtime/program"
)

// usedCode are the numbers of the modules whose kernels a device calls, in order.
func usedCode(plan *program.Plan, d *program.Device) []int {
	var used []int
	for i := range d.Progs {
		for _, in := range d.Progs[i].Instrs {
			if in.Comm == nil {
				used = append(used, plan.Kernels[in.Kernel].Code)
			}
		}
	}
	slices.Sort(used)
	return slices.Compact(used)
}

// isExchange says whether an instruction exchanges something with other devices.
func isExchange(in *program.Instr) bool {
	c := in.Comm
	return c != nil && !c.Moves() && c.Kind != collective.ShardSlice && c.Kind != collective.Done
}

// communicates says whether a device exchanges anything with others.
func communicates(d *program.Device) bool {
	for i := range d.Progs {
		if slices.ContainsFunc(d.Progs[i].Instrs, func(in program.Instr) bool { return isExchange(&in) }) {
			return true
		}
	}
	return false
}

// hasProducts says whether a device calls kernels that are products.
func hasProducts(plan *program.Plan, d *program.Device) bool {
	for i := range d.Progs {
		for _, in := range d.Progs[i].Instrs {
			if in.Comm == nil && len(plan.Kernels[in.Kernel].Products) > 0 {
				return true
			}
		}
	}
	return false
}
