package check

import (
	"flag"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

var dist = flag.String("dist", "../../dist", "the folder of what was made")

// artifact is the newest file that a pattern matches.
func artifact(t *testing.T, pattern string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(*dist, pattern))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s has no %s: make it first, see make help (%v)", *dist, pattern, err)
	}
	slices.SortFunc(names, func(a, b string) int { return age(t, a).Compare(age(t, b)) })
	path, err := filepath.Abs(names[len(names)-1])
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func age(t *testing.T, path string) time.Time {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.ModTime()
}

// start runs a program and gives what it says; it has to end with 0.
func start(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

// train writes a text and the starter project below dir, and trains it three steps; ptc
// gives the command for a line of arguments, and inside is how ptc sees dir.
func train(t *testing.T, dir, inside string, ptc func(args ...string) *exec.Cmd) {
	t.Helper()
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("a text of some lines\n", 50)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	start(t, ptc("new", inside+"/hello"))
	start(t, ptc("compile", inside+"/hello/model.ptl", "-o", inside+"/hello.bin", "--target", "ref", "--set", "corpus="+inside+"/*.txt",
		"--set", "batch=4", "--set", "hidden=8"))
	if out := start(t, ptc("run", inside+"/hello.bin", "--steps", "3", "--save", inside+"/trained.safetensors")); !strings.Contains(out, "3 steps done") {
		t.Errorf("run says\n%s", out)
	}
	if _, err := os.Stat(filepath.Join(dir, "trained.safetensors")); err != nil {
		t.Error(err)
	}
}

// files lists what is below a folder, but for folders.
func files(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, name)
			out = append(out, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// uname is this machine as Python names it.
var uname = map[string]string{"amd64": "x86_64", "arm64": "aarch64"}[runtime.GOARCH]
