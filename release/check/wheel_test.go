package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWheel installs the wheel in an environment of its own, without a registry, trains
// with the module, and reads the parameters with numpy, which is then installed.
func TestWheel(t *testing.T) {
	wheel := artifact(t, "ptc-*_"+uname+".whl")
	python := os.Getenv("PYTHON")
	if python == "" {
		python = "python3"
	}
	script, err := filepath.Abs("train.py")
	if err != nil {
		t.Fatal(err)
	}
	env := filepath.Join(t.TempDir(), "env")
	start(t, exec.Command(python, "-m", "venv", env))
	in := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(filepath.Join(env, "bin", name), args...)
		cmd.Dir = t.TempDir()
		return cmd
	}
	start(t, in("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", wheel))
	if out := start(t, in("ptc", "version")); !strings.HasPrefix(out, "ptc ") {
		t.Errorf("the script says %s", out)
	}
	// In the folder of the first step are its files, which the second reads.
	work := t.TempDir()
	for _, step := range []string{"train", "read"} {
		if step == "read" {
			start(t, in("python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "numpy"))
		}
		cmd := in("python", "-I", script, step)
		cmd.Dir = work
		if out := start(t, cmd); !strings.HasSuffix(strings.TrimSpace(out), "ok") {
			t.Errorf("%s says\n%s", step, out)
		}
	}
	start(t, in("python", "-m", "pip", "uninstall", "--quiet", "--yes", "ptc"))
	for _, f := range files(t, env) {
		if strings.Contains(f, "/ptc") {
			t.Errorf("%s is left", f)
		}
	}
}
