package compiler

import (
	"fmt"

	"ptc/backend"
	"ptc/ir"
	"ptc/runtime/program"
)

// Forms are the texts of kernel k of p, from its function in ir to code: what the plan's target makes of it
// alone, with the plan's schedules. The last is the disassembly of the kernel's code in the plan; where this
// machine lacks a tool, it says which.
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
	forms = append([]backend.Form{{Kind: "ptir", Text: k.IR}}, forms...)
	last, err := t.Disassembly(p.Code[k.Code], k.Symbol)
	if err != nil || last.Kind == "" {
		return forms, err
	}
	return append(forms, last), nil
}
