package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
)

// TestScripts: every script of a page or an editor is valid, as far as that is known before it runs: a name that is declared
// twice, say, and the whole script does nothing.
func TestScripts(t *testing.T) {
	root, n := filepath.Join("..", ".."), 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules"):
			return fs.SkipDir
		case filepath.Ext(path) != ".js":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		n++
		for _, m := range api.Transform(string(text), api.TransformOptions{Sourcefile: path, LogLevel: api.LogLevelSilent}).Errors {
			t.Errorf("%s:%d: %s", path, m.Location.Line, m.Text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if n < 8 {
		t.Errorf("%d scripts: the test looks in the wrong place", n)
	}
}
