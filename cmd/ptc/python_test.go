package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPython runs the tests of the Python package with this binary as its command. They take no package but
// the standard library's.
func TestPython(t *testing.T) {
	if os.Getenv("PTC_PYTHON") == "none" {
		t.Skip("PTC_PYTHON=none: without Python, by choice")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatal("python3 is not installed (or set PTC_PYTHON=none)")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../../python")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, "-B", "-W", "error::ResourceWarning", filepath.Join(root, "tests", "test_ptc.py"))
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PYTHONPATH="+root, "PTC_BINARY="+self, asMain+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
