package compiler

import (
	"fmt"
	"slices"

	"ptc/ir"
	"ptc/passes/pass"
)

// warnings are the remarks that are warnings, each once for all instances of a module and
// all functions.
func warnings(remarks []pass.Remark) (out []string) {
	for _, r := range remarks {
		if !r.Warning {
			continue
		}
		w := r.Text
		if r.Scope != "" {
			w = fmt.Sprintf("%s: %s (%s)", ir.OfInstance(r.Scope, 0), r.Text, r.Pos)
		}
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	return out
}
