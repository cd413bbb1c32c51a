package train

import (
	"testing"

	"ptc/ir"
	"ptc/lang/value"
)

// Patterns override which parameters decay.
func TestDecayPatterns(t *testing.T) {
	two := ir.Type{Axes: make([]ir.Axis, 2)}
	one := ir.Type{Axes: make([]ir.Axis, 1)}
	o := &optimizer{noDecay: []string{"wpe", "**.b*"}, decay: []string{"blocks.*.ln1.gain"}}
	for _, c := range []struct {
		path string
		typ  ir.Type
		want bool
	}{
		{"wte", two, true}, {"wpe", two, false}, {"blocks.3.attn.bq", two, false}, {"blocks.11.attn.wq", two, true},
		{"ln_f.gain", one, false}, {"blocks.3.ln1.gain", one, true}, {"blocks.3.mlp.ln1.gain", one, false},
	} {
		if got := o.decays(&value.Param{Path: c.path, Type: c.typ}); got != c.want {
			t.Errorf("%s decays: %t", c.path, got)
		}
	}
}
