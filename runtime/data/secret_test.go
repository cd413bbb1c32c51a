package data

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestValuesOfVariablesAreNotShown: of a pattern with a variable, messages have
// the pattern.
func TestValuesOfVariablesAreNotShown(t *testing.T) {
	root := filepath.Join(t.TempDir(), "hunter2")
	if err := os.MkdirAll(filepath.Join(root, "x"), 0o777); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SECRET_TOKEN", root)
	file := filepath.Join(root, "x", "a.txt")
	open := func(pattern string) string {
		_, err := Open("text", []Option{{"", pattern}}, Batch{Size: 2, Window: 4, Vocab: 64})
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			return err.Error()
		}
		src, err := Open("text", []Option{{"", pattern}}, Batch{Size: 2, Window: 4})
		if err != nil {
			return err.Error()
		}
		return src.Describe() + src.Fingerprint()
	}
	const pattern = "${SECRET_TOKEN}/x/*"
	for name, prepare := range map[string]func(){
		"folder": func() {},
		"binary": func() { _ = os.WriteFile(file, make([]byte, 5000), 0o666) },
		"closed": func() { _ = os.Chmod(file, 0) },
		"short":  func() { _ = os.Chmod(file, 0o666); _ = os.WriteFile(file, []byte("ab"), 0o666) },
		"good":   func() { _ = os.WriteFile(file, []byte(strings.Repeat("a text ", 99)), 0o666) },
	} {
		prepare()
		for _, p := range []string{pattern, "${SECRET_TOKEN}/none/*", "${SECRET_TOKEN}/x/a.txt/*", "${SECRET_TOKEN}", "${SECRET_TOKEN}/[", "${SECRET_TOKEN}/${NO_SUCH_VALUE}"} {
			if said := open(p); strings.Contains(said, "hunter2") {
				t.Errorf("%s, %s: %s", name, p, said)
			}
		}
	}
	// A link in a circle cannot be listed.
	if err := os.Symlink("loop", filepath.Join(root, "x", "loop")); err != nil {
		t.Fatal(err)
	}
	if said := open(pattern); strings.Contains(said, "hunter2") {
		t.Error(said)
	}
}
