package syntax

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/internal/diag"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the outputs in testdata")

// TestGolden runs the archives of testdata: every section name.ptl is a
// source, and the sections name.errors, name.ast and name.fmt after it are
// what becomes of it. The first line of an archive says which outputs are
// kept, for example "outputs: ast fmt"; errors always are.
func TestGolden(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal("no archives in testdata", err)
	}
	for _, path := range archives {
		t.Run(filepath.Base(path), func(t *testing.T) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			old := txtar.Parse(data)
			got := txtar.Format(run(t, old))
			if *update {
				if err := os.WriteFile(path, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if d := cmp.Diff(string(txtar.Format(old)), string(got)); d != "" {
				t.Errorf("(-want +got; -update rewrites)\n%s", d)
			}
		})
	}
}

// run keeps the sources of an archive and makes its outputs anew.
func run(t *testing.T, in *txtar.Archive) *txtar.Archive {
	first, _, _ := strings.Cut(string(in.Comment), "\n")
	outputs, ok := strings.CutPrefix(first, "outputs:")
	if !ok {
		t.Fatalf("the archive begins with %q, not with its outputs", first)
	}
	out := &txtar.Archive{Comment: in.Comment}
	for _, f := range in.Files {
		name, ok := strings.CutSuffix(f.Name, ".ptl")
		if !ok {
			continue
		}
		out.Files = append(out.Files, f)
		add := func(kind, text string) {
			out.Files = append(out.Files, txtar.File{Name: name + "." + kind, Data: []byte(text)})
		}
		tree, errs := Parse(f.Name, f.Data)
		if len(errs) > 0 {
			add("errors", diag.Plain.Render(errs, func(string) (string, bool) { return string(f.Data), true }))
			continue
		}
		if strings.Contains(outputs, "ast") {
			add("ast", dump(tree))
		}
		if strings.Contains(outputs, "fmt") {
			text, errs := Format(f.Name, f.Data)
			if len(errs) > 0 {
				t.Errorf("%s: Format: %v", f.Name, errs)
			}
			add("fmt", string(text))
		}
	}
	return out
}
