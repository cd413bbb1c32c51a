package memory

import (
	"testing"

	"ptc/passes/passtest"
)

// The archives show where values lie. Each is executed before and after, and
// its plan is checked.
func TestGolden(t *testing.T) { passtest.Golden(t, "testdata/*.txtar", Run, nil) }
