package passes

import (
	"testing"
	"time"

	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/ir/verify"
	"ptc/passes/check"
	"ptc/passes/pass"
)

// TestTransformer runs every pass over a transformer's training step,
// verifies each result and executes it.
func TestTransformer(t *testing.T) {
	m := irtest.Transformer(irtest.Small)
	k := check.New(1)
	hook := func(i int, name string, m *ir.Module, d time.Duration) error {
		t.Logf("%-12s %v", name, d)
		return k.Hook(i, name, m, d)
	}
	if errs := verify.Module(m); len(errs) > 0 {
		t.Fatal(errs)
	}
	c := &pass.Context{}
	if err := Run(c, m, &Options{VerifyEach: true, Hooks: []Hook{hook}}); err != nil {
		t.Fatal(err)
	}
	for _, r := range k.Report.Rows {
		if !r.OK {
			t.Errorf("%s changed the result (%s): %s by %.3g, tolerance %.3g", r.Pass, r.Kind, r.Worst, r.Diff, r.Tol)
		}
	}
	for _, r := range c.Remarks {
		t.Log(r)
	}
	t.Logf("%d functions", len(m.Funcs))
	if testing.Verbose() {
		t.Log("\n" + ir.Print(m))
	}
}
