package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/ir/auto"
	"ptc/lang/directive"
)

// TestDirectives: the reference has a section for each directive, with all of its options
// and their words.
func TestDirectives(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "language.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range directive.Forms() {
		_, section, ok := strings.Cut(string(text), "\n### "+f.Word+"\n")
		if !ok {
			t.Errorf("language.md has no section `%s`", f.Word)
			continue
		}
		section, _, _ = strings.Cut(section, "\n### ")
		for _, k := range f.Keys {
			for _, w := range append(k.Words, k.Name) {
				if !strings.Contains(section, w) {
					t.Errorf("language.md: the section `%s` does not mention `%s`", f.Word, w)
				}
			}
		}
	}
}

// TestAutoWords: the section of auto layouts has a row for each word of `allow`, with its
// values, and for each objective.
func TestAutoWords(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "language.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n### auto\n")
	section, _, _ = strings.Cut(section, "\n## ")
	row := func(word string) string {
		_, rest, ok := strings.Cut(section, "\n| `"+word+"` | ")
		if !ok {
			t.Errorf("language.md: the section `auto` has no row for `%s`", word)
		}
		line, _, _ := strings.Cut(rest, "\n")
		return line
	}
	for _, w := range auto.Words {
		line := row(w.Name)
		for _, v := range w.From {
			if w.Name != "schedule" && !strings.Contains(line, "`"+v+"`") { // the section of pipelines has schedules
				t.Errorf("language.md: the row of `%s` has no `%s`", w.Name, v)
			}
		}
	}
	for _, o := range auto.Objectives {
		row(o.Name)
	}
}
