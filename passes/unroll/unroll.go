package unroll

import (
	"fmt"
	"slices"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/layout"
	"ptc/passes/pass"
	"ptc/passes/stage"
)

// MaxOps is the most that is written out: about as much as one core compiles in four
// minutes and 7 GiB.
const MaxOps = 1_000_000

// Run unrolls the functions of m.
func Run(_ *pass.Context, m *ir.Module) error {
	if err := fits(m); err != nil {
		return err
	}
	*m = *m.Unrolled()
	return nil
}

// fits refuses what would take very long, before any of it is written; of an operation
// there are so many for each microbatch.
func fits(m *ir.Module) error {
	var all, each int64 // with every microbatch, and of one
	micro := 1
	for _, f := range m.Funcs {
		for _, o := range f.Ops {
			n := o.Times()
			if o.PerMicro() {
				each += n
				n *= int64(f.Micro)
			}
			all += n
		}
		micro = max(micro, f.Micro)
	}
	if all <= MaxOps {
		return nil
	}
	e := &diag.Error{Code: "E0614", Msg: fmt.Sprintf("the step would have %d operations, of which at most %d are written out for `offload activations`", all, MaxOps),
		Hint: "use fewer instances of repeated modules"}
	if r := stage.Of(m); r != nil {
		e.Pos = r.At
		e.Msg = fmt.Sprintf("with %d microbatches ", micro) + e.Msg
		if fit := int64(micro) - (all-MaxOps+each-1)/max(1, each); each > 0 && fit > 0 {
			e.Want = fmt.Sprintf("at most %d microbatches", fit)
			e.Hint = "use fewer, larger microbatches"
		}
	}
	return e
}

// Offload unrolls the functions of a module whose layout offloads activations.
func Offload(c *pass.Context, m *ir.Module) error {
	for _, x := range layout.All[*layout.Offload](layout.Of(m)) {
		if slices.Contains(x.What, "activations") {
			return Run(c, m)
		}
	}
	return nil
}
