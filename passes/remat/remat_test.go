package remat

import (
	"strings"
	"testing"

	"ptc/passes/passtest"
)

func TestGolden(t *testing.T) { passtest.Golden(t, "testdata/*.txtar", Run, nil) }

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"blocks.*", "blocks.0", true}, {"blocks.*", "blocks", false}, {"blocks.*", "blocks.0.mlp", false},
		{"**.mlp", "blocks.0.mlp", true}, {"**.mlp", "mlp", true}, {"**", "a.b", true}, {"a.**.c", "a.c", true},
		{"a.**.c", "a.b.b.c", true}, {"a.**.c", "a.b", false}, {"mlp", "mlp", true}, {"mlp", "mlq", false},
	} {
		if got := matches(strings.Split(c.pattern, "."), strings.Split(c.path, ".")); got != c.want {
			t.Errorf("%s of %s: %v", c.path, c.pattern, got)
		}
	}
}
