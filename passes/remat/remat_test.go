package remat

import (
	"testing"

	"ptc/passes/passtest"
)

func TestGolden(t *testing.T) { passtest.Golden(t, "testdata/*.txtar", Run, nil) }
