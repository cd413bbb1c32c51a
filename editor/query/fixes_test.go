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

// TestFixes takes the mistakes of the language's own tests, and some of ours: each that
// has "did you mean", in a file that can be edited, has a fix, and each fix takes away its
// mistake. Every row of the remedies is tried.
func TestFixes(t *testing.T) {
	names, err := filepath.Glob("../../lang/testdata/errors/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	names = append(names, "../../lang/syntax/testdata/errors.txtar", "testdata/fixes/more.txtar")
	tried, guesses := map[*regexp.Regexp]bool{}, 0
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
				g, _ := v.diagnostic(e)
				if g != v.File || e.Pos.File != g.Name {
					continue
				}
				fixed := checkFixes(t, a, v, e)
				guess := strings.Contains(e.Hint, "did you mean")
				if guess {
					guesses++
				}
				if guess && !fixed {
					t.Errorf("%s, %s has no fix for %s", filepath.Base(name), f.Name, e)
				}
				for _, r := range remedies {
					if fixed && r.hint.MatchString(e.Hint) {
						tried[r.hint] = true
					}
				}
			}
		}
	}
	for _, r := range remedies {
		if !tried[r.hint] {
			t.Errorf("no fix is tried of hints such as %s", r.hint)
		}
	}
	if guesses < 60 {
		t.Errorf("%d guesses", guesses)
	}
}

// checkFixes applies each fix of a mistake, which it must take away, and says whether there
// is one.
func checkFixes(t *testing.T, a *txtar.Archive, v *View, e *diag.Error) (fixed bool) {
	t.Helper()
	f, d := v.diagnostic(e)
	for _, x := range v.Fixes(d.Range) {
		if x.Diagnostics[0].Message != d.Message || x.Diagnostics[0].Range != d.Range {
			continue // of another mistake at this place
		}
		fixed = true
		after := applied(v.Now, x, v.URI(f))
		if count(viewOf(a, f.Name, after).mistakes(), e) >= count(v.mistakes(), e) {
			t.Errorf("%s: after %q the mistake is still there:\n%s", e, x.Title, after)
		}
	}
	return fixed
}

// count is how many mistakes say the same, wherever they are.
func count(l diag.List, e *diag.Error) (n int) {
	for _, o := range l {
		if o.Code == e.Code && o.Msg == e.Msg && o.Hint == e.Hint {
			n++
		}
	}
	return n
}
