package lang_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"ptc/internal/diag"
	"ptc/lang/syntax"
)

// The standard library and the examples are laid out as the formatter does it.
func TestOwnSourcesAreFormatted(t *testing.T) {
	std, _ := filepath.Glob("../stdlib/*.ptl")
	models, _ := filepath.Glob("../stdlib/models/*.ptl")
	examples, _ := filepath.Glob("../examples/*/*.ptl")
	if len(std) < 5 || len(examples) < 3 {
		t.Fatalf("found %d files of the standard library and %d examples", len(std), len(examples))
	}
	for _, p := range slices.Concat(std, models, examples) {
		src, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		out, errs := syntax.Format(p, src)
		if len(errs) > 0 {
			t.Fatal(diag.Plain.Render(errs, nil))
		}
		if !bytes.Equal(src, out) {
			t.Errorf("%s is not formatted; it should read\n%s", p, out)
		}
	}
}
