package chunk

import (
	"testing"

	"ptc/ir"
	"ptc/ir/targetinfo"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// few has products of any size cut, into chunks of 32 rows or more.
func few(c *pass.Context, m *ir.Module) error {
	c.Target.Chunk = targetinfo.Chunk{Bytes: 1, Rows: 32, Most: 4}
	return Run(c, m)
}

func TestGolden(t *testing.T) { passtest.Golden(t, "testdata/*.txtar", few, nil) }
