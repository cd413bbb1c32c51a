package partition

import (
	"testing"

	"ptc/ir"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// TestGolden compares text, executes each archive before and after (on as many
// devices as the mesh has, from Local on), and proves that the numbers are kept.
func TestGolden(t *testing.T) {
	passtest.Golden(t, "testdata/*.txtar", func(c *pass.Context, m *ir.Module) error {
		before := m.Clone()
		if err := Run(c, m); err != nil {
			return err
		}
		passtest.Numbered(t, before, m)
		return nil
	}, nil)
}
