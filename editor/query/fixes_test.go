package query

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"ptc/editor/analysis"
	"ptc/editor/protocol"
	"ptc/editor/text"
	"ptc/internal/diag"
	"ptc/lang/source"
)

// viewOf is a program whose main file is the first one of an archive.
func viewOf(a *txtar.Archive, name, src string) *View {
	p := analysis.Check(context.Background(), analysis.Input{Name: name, Text: src, Read: func(path string) ([]byte, error) {
		for _, f := range a.Files {
			if f.Name == path {
				return f.Data, nil
			}
		}
		return nil, source.ErrOutside
	}})
	return &View{Program: p, File: p.Main, Now: text.New(src), URI: func(f *source.File) string { return f.Name }}
}

// applied is a text after the edits of an action.
func applied(t *text.Text, a protocol.CodeAction, uri string) string {
	edits := slices.Clone(a.Edit.Changes[uri])
	slices.Reverse(edits) // each in the text that the others did not change
	var changes []text.Edit
	for _, e := range edits {
		changes = append(changes, text.Edit{Range: &e.Range, Text: e.NewText})
	}
	return text.Apply(t, changes).String
}

// alike are mistakes that say the same, wherever they are.
func alike(e *diag.Error) string { return e.Code + e.Msg + e.Hint }

// TestFixes takes the mistakes of the language's own tests: each that has "did you mean",
// in a file that can be edited, has a fix, and each fix takes away its mistake.
func TestFixes(t *testing.T) {
	names, err := filepath.Glob("../../lang/testdata/errors/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	names = append(names, "../../lang/syntax/testdata/errors.txtar")
	titles := map[string]bool{}
	guesses := 0
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		a := txtar.Parse(data)
		for _, f := range a.Files {
			if filepath.Ext(f.Name) != ".ptl" {
				continue
			}
			v := viewOf(a, f.Name, string(f.Data))
			for _, e := range v.mistakes() {
				g, d := v.diagnostic(e)
				guess := strings.Contains(e.Hint, "did you mean")
				if g != v.File || !e.Pos.IsValid() || e.Pos.File != g.Name {
					continue
				}
				if guess {
					guesses++
				}
				fixed := 0
				for _, x := range v.Fixes(d.Range) {
					if x.Diagnostics[0].Message != d.Message || x.Diagnostics[0].Range != d.Range {
						continue
					}
					fixed++
					titles[regexp.MustCompile("`[^`]*`").ReplaceAllString(x.Title, "_")] = true
					after := viewOf(a, f.Name, applied(v.Now, x, v.URI(g)))
					if count(after.mistakes(), e) >= count(v.mistakes(), e) {
						t.Errorf("%s, %s: %s: after %q the mistake is still there:\n%s", filepath.Base(name), f.Name, e, x.Title, applied(v.Now, x, v.URI(g)))
					}
				}
				if guess && fixed == 0 {
					t.Errorf("%s, %s has no fix for %s", filepath.Base(name), f.Name, e)
				}
			}
		}
	}
	if guesses < 60 || len(titles) < 5 {
		t.Errorf("%d guesses, fixes of the kinds %v", guesses, titles)
	}
}

func count(l diag.List, e *diag.Error) (n int) {
	for _, o := range l {
		if alike(o) == alike(e) {
			n++
		}
	}
	return n
}
