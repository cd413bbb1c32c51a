package lang_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"ptc/internal/diag"
	"ptc/ir/verify"
	"ptc/lang"
)

// FuzzLower holds that no source, of two files and an override, makes the
// lowering panic or run long, also of an auto layout, and that what it accepts verifies.
func FuzzLower(f *testing.F) {
	archives, _ := filepath.Glob("testdata/*/*.txtar")
	for _, name := range archives {
		a, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, x := range a.Files {
			if strings.HasSuffix(x.Name, ".ptl") {
				f.Add(x.Data, []byte("fn f(x) { return x }"), "batch", "2*seq")
			}
		}
	}
	examples, _ := filepath.Glob("../examples/*/*.ptl")
	for _, name := range append(examples, "../stdlib/nn.ptl") {
		src, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src, src, "layers", "3")
	}
	f.Fuzz(func(t *testing.T, main, other []byte, key, val string) {
		if len(main)+len(other) > 1<<16 {
			return
		}
		start := time.Now()
		p, errs := lang.Load("main.ptl", main, func(path string) ([]byte, error) {
			if strings.Count(path, "/") > 2 {
				return nil, fmt.Errorf("no such file")
			}
			return other, nil
		})
		diag.Plain.Render(errs, p.Source)
		if len(errs) > 0 {
			return
		}
		r, errs := p.Lower(lang.Options{Set: []lang.Override{{Key: key, Value: val}}})
		if len(errs) == 1 && errs[0].Code == "E0214" {
			r, errs = p.Lower(lang.Options{})
		}
		diag.Plain.Render(errs, p.Source)
		if (r == nil) != (len(errs) > 0) {
			t.Fatalf("a result %v with %d errors", r, len(errs))
		}
		if r != nil {
			if errs := verify.Module(r.Module); len(errs) > 0 {
				t.Error(errs)
			}
		}
		l, errs := p.Auto("", nil)
		diag.Plain.Render(errs, p.Source)
		if (l == nil) != (len(errs) > 0) {
			t.Fatalf("an auto layout %v with %d errors", l, len(errs))
		}
		if d := time.Since(start); d > 30*time.Second {
			t.Errorf("took %v", d)
		}
	})
}
