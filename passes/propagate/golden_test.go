package propagate

import (
	"testing"

	"ptc/passes/passtest"
)

// TestGolden compares text, and executes each archive before and after: on as
// many devices as the mesh has, from Local on.
func TestGolden(t *testing.T) { passtest.Golden(t, "testdata/*.txtar", Run, nil) }

// TestRegroup compares sums before and after they add partial terms up first.
func TestRegroup(t *testing.T) { passtest.Golden(t, "testdata/regroup/*.txtar", Regroup, nil) }
