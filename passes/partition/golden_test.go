package partition

import (
	"testing"

	"ptc/ir"
	"ptc/passes/pass"
	"ptc/passes/passtest"
	"ptc/passes/validate"
)

// TestGolden compares text, executes each archive before and after (on as many
// devices as the mesh has, from Local on), and proves that the numbers are kept.
func TestGolden(t *testing.T) {
	var before *ir.Module
	passtest.Golden(t, "testdata/*.txtar", func(c *pass.Context, m *ir.Module) error {
		if err := Run(c, m); err != nil {
			return err
		}
		table := validate.New()
		a, err := table.Module(before)
		if err != nil {
			t.Fatal(err)
		}
		b, err := table.Module(m)
		if err != nil {
			t.Fatal(err)
		}
		if err := table.Same(a, b); err != nil {
			t.Error(err)
		}
		return nil
	}, func(m *ir.Module) { before = m })
}
