package schedule

import (
	"testing"

	"ptc/passes/passtest"
)

// TestGolden compares text, and executes each archive before and after: on as
// many devices as the mesh has, from Local on.
func TestGolden(t *testing.T) { passtest.Golden(t, "testdata/*.txtar", Run, nil) }
