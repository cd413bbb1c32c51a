package openpath_test

import (
	"strings"
	"testing"

	"ptc/internal/openpath"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"blocks.*", "blocks.0", true}, {"blocks.*", "blocks", false}, {"blocks.*", "blocks.0.mlp", false},
		{"**.mlp", "blocks.0.mlp", true}, {"**.mlp", "mlp", true}, {"**", "a.b", true}, {"a.**.c", "a.c", true},
		{"a.**.c", "a.b.b.c", true}, {"a.**.c", "a.b", false}, {"mlp", "mlp", true}, {"mlp", "mlq", false},
		{"a*.b?", "ab.bc", true}, {"**.**", "a", true}, {"**.a.**.b", "a.x.a.b", true}, {"[", "[", true}, {"[", "a", false}, {"a.b", "a", false},
	} {
		if got := openpath.Match(strings.Split(c.pattern, "."), strings.Split(c.path, ".")); got != c.want {
			t.Errorf("%s of %s: %v", c.path, c.pattern, got)
		}
	}
}
