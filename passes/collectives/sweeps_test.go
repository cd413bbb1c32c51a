package collectives

import (
	"fmt"
	"strings"
	"testing"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/passes/pass"
)

// TestRulesEnd: a rule that always fits ends in a panic with its name, not never.
func TestRulesEnd(t *testing.T) {
	saved := rules
	defer func() { rules = saved }()
	rules = append(rules, rule{"spin", func(x *rewriter, o *ir.Op) *ir.Value {
		if !exchange(o) || o.Name == collective.ShardSlice {
			return nil
		}
		return x.b.EmitStated(o.Name, o.Attrs, o.Args...)
	}})
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, `"spin"`) {
			t.Errorf("%s, want a panic that names the rule", p)
		}
	}()
	m := randomProgram(3, 40)
	_ = Run(&pass.Context{}, m)
}
