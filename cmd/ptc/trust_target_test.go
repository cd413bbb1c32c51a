package main

import (
	"testing"

	"ptc/runtime/program"
)

// TestRebuildTarget: a plan is rebuilt for its own target, unless this machine lacks what that takes: tile registers that
// the system does not give, say.
func TestRebuildTarget(t *testing.T) {
	for _, c := range []struct {
		f    trustFlags
		plan program.Plan
		want string
	}{
		{trustFlags{rebuild: true}, program.Plan{Target: "cpu:x86-64-v2"}, ""},
		{trustFlags{rebuild: true}, program.Plan{Target: "cpu:x86-64-v9", Features: []string{"no such feature"}}, "cpu"},
		{trustFlags{rebuild: true}, program.Plan{Target: "ref:f64"}, ""},
		{trustFlags{rebuild: true}, program.Plan{Target: "cuda:sm_80", Features: []string{"sm_80"}}, ""},
		{trustFlags{noNative: true}, program.Plan{Target: "ref:f64"}, "ref:f64"},
		{trustFlags{noNative: true}, program.Plan{Target: "cpu:x86-64-v9", Features: []string{"no such feature"}}, "ref"},
	} {
		if got := c.f.target(&c.plan); got != c.want {
			t.Errorf("%+v of %s: %q, want %q", c.f, c.plan.Target, got, c.want)
		}
	}
}
