package simplify

import (
	"fmt"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/passes/pass"
)

// TestRulesEnd: a rule that always fits ends in a panic with its name, not never.
func TestRulesEnd(t *testing.T) {
	saved := anyOp
	defer func() { anyOp = saved }()
	anyOp = []rule{{name: "spin", apply: func(r *rewriter, o *ir.Op) *ir.Value {
		v := r.f.NewValue(o.Results[0].Type, nil)
		n := &ir.Op{Name: o.Name, Attrs: o.Attrs, Args: o.Args, Results: []*ir.Value{v}}
		v.Def = n
		r.out = append(r.out, n)
		return v
	}}}
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "spin") {
			t.Errorf("%s, want a panic that names the rule", p)
		}
	}()
	Func(&pass.Context{}, chain(3))
}
