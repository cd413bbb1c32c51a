package sim

import (
	"fmt"
	"slices"

	"ptc/internal/collective"
	"ptc/runtime/program"
)

// together is the payload of all gradients that the collective of which an instruction is a part reduces; 0 where it is no part.
func (w *writer) together(in *program.Instr) int64 {
	if !w.options.FlatGradients || !w.gradients(in) {
		return 0
	}
	key := func(c *program.Comm) string { return fmt.Sprint(c.Kind, c.Over) }
	if w.flat[key(in.Comm)] == 0 {
		for i := range w.prog.Instrs {
			if x := &w.prog.Instrs[i]; w.gradients(x) {
				w.flat[key(x.Comm)] += w.payload(x.Comm) * int64(w.order.Times(i))
			}
		}
	}
	return w.flat[key(in.Comm)]
}

// gradients reports whether an instruction is a collective of gradients.
func (w *writer) gradients(in *program.Instr) bool {
	c := in.Comm
	if c == nil || !collective.Of(c.Kind).Reduces || len(in.Bufs) == 0 {
		return false
	}
	buffers := w.plan.Devices[w.who.device[w.rank]].Buffers
	return !slices.ContainsFunc(in.Bufs, func(i int) bool { return buffers[i].Space != program.Grads })
}
