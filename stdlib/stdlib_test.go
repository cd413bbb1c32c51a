package stdlib

import (
	"slices"
	"testing"
)

func TestFiles(t *testing.T) {
	names := Names()
	for _, n := range []string{"data", "math", "nn", "optim", "schedule"} {
		if !slices.Contains(names, n) {
			t.Errorf("std.%s is missing", n)
		}
	}
	for _, n := range append(Implicit, names...) {
		if text, ok := Read(n); !ok || text == "" {
			t.Errorf("std.%s cannot be read", n)
		}
	}
	for _, n := range []string{"", "none", "../stdlib/nn", "nn.ptl", "models", "models/", "models/none", "models/../nn", "models/llama.ptl"} {
		if _, ok := Read(n); ok {
			t.Errorf("%q is a file", n)
		}
	}
}
