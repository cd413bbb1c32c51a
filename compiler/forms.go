package compiler

import (
	"fmt"

	"ptc/backend"
	"ptc/ir"
	"ptc/runtime/program"
)

// Forms are the texts of kernel k of p, from its function in ir to code: what the plan's target makes of it
// alone, with the plan's schedules. A target that this machine cannot generate code for is an error.
func Forms(p *program.Plan, k *program.Kernel) ([]backend.Form, error) {
	t, err := backend.Resolve(p.Target)
	if err != nil {
		return nil, err
	}
	given, err := schedulesOf(p)
	if err != nil {
		return nil, err
	}
	head := ir.Print(&ir.Module{Level: ir.Fused, Name: "kernels"})
	m, errs := ir.Parse(k.Name, []byte(head+"\n"+k.IR))
	if len(errs) > 0 {
		return nil, fmt.Errorf("kernel %s of the plan: %w", k.Name, errs)
	}
	if len(m.Funcs) != 1 {
		return nil, fmt.Errorf("kernel %s of the plan: found %d functions; expected one", k.Name, len(m.Funcs))
	}
	forms, err := t.Forms(m.Funcs[0], given)
	if err != nil {
		return nil, generated(err)
	}
	return append([]backend.Form{{Kind: "ptir", Text: k.IR}}, forms...), nil
}
