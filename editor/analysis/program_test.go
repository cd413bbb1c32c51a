package analysis

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

// example reads an example as an input.
func example(t *testing.T, name string) Input {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("../../examples", name, name+".ptl"))
	if err != nil {
		t.Fatal(err)
	}
	return Input{Name: name + ".ptl", Text: string(src)}
}

// TestExamples: every example is without mistakes under all of its layouts, and every
// name in it stands for something.
func TestExamples(t *testing.T) {
	for _, name := range []string{"gpt", "llama", "lora", "mlp", "moe"} {
		p := Check(context.Background(), example(t, name))
		if len(p.Errs) > 0 || !p.Trains || p.Broken {
			t.Errorf("%s: %v", name, p.Errs)
		}
		if len(p.Seen) < 50 || len(p.Names.In(p.Main)) < 20 {
			t.Errorf("%s: %d nodes have values, %d names are known", name, len(p.Seen), len(p.Names.In(p.Main)))
		}
	}
}
