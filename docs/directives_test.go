package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
