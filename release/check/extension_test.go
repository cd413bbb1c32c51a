package check

import (
	"archive/zip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestExtension unpacks the extension and holds a session of it with ptc lsp, in Node.js:
// a mistake is told and corrected, and a place is completed.
func TestExtension(t *testing.T) {
	root := t.TempDir()
	z, err := zip.OpenReader(artifact(t, "ptc-*.vsix"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(root, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	binary, err := filepath.Abs("../../bin/ptc")
	if err != nil {
		t.Fatal(err)
	}
	if out := start(t, exec.Command("node", "session.js", filepath.Join(root, "extension"), binary)); strings.TrimSpace(out) != "ok" {
		t.Errorf("the session says\n%s", out)
	}
}
