package growth

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

// block is statements that always run together: a file, and its lines and columns.
type block struct{ file, at string }

// pkg is the folder of the block's package, from the root of the project.
func (b block) pkg() string { return path.Dir(b.file) }

// counts is how many statements of each block ran.
type counts map[block]int64

// compiler is a ptc that counts.
type compiler struct{ binary, source string }

// build makes the compiler, and the source that it compiles: examples/gpt with the
// layouts of this test.
func build(t *testing.T, layouts string) *compiler {
	c := &compiler{filepath.Join(t.TempDir(), "ptc"), filepath.Join(t.TempDir(), "growth.ptl")}
	command := exec.Command("go", "build", "-trimpath", "-cover", "-covermode=count", "-coverpkg=ptc/...", "-o", c.binary, "ptc/cmd/ptc")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	model, err := os.ReadFile("../../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(c.source, append(model, layouts...), 0o666); err != nil {
		t.Fatal(err)
	}
	return c
}

// compile compiles a layout with replacements of config entries.
func (c *compiler) compile(t *testing.T, layout string, set map[string]int) counts {
	dir := t.TempDir()
	args := []string{"compile", c.source, "--target", "ref", "-q", "-o", filepath.Join(dir, "plan.bin"), "--layout", layout}
	for name, n := range set {
		args = append(args, "--set", fmt.Sprintf("%s=%d", name, n))
	}
	command := exec.Command(c.binary, args...)
	command.Env = append(os.Environ(), "GOCOVERDIR="+dir)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	text := filepath.Join(dir, "counts.txt")
	if out, err := exec.Command("go", "tool", "covdata", "textfmt", "-i="+dir, "-o="+text).CombinedOutput(); err != nil {
		t.Fatalf("go tool covdata: %v\n%s", err, out)
	}
	return read(t, text)
}

// read takes lines such as "ptc/ir/module.go:31.32,33.2 1 77": statements and runs.
func read(t *testing.T, name string) counts {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := counts{}
	lines := bufio.NewScanner(f)
	lines.Scan() // mode: count
	for lines.Scan() {
		where, rest, _ := strings.Cut(lines.Text(), " ")
		file, at, _ := strings.Cut(where, ":")
		var statements, runs int64
		if _, err := fmt.Sscan(rest, &statements, &runs); err != nil {
			t.Fatalf("%s: %q: %v", name, lines.Text(), err)
		}
		if runs > 0 {
			c[block{strings.TrimPrefix(file, "ptc/"), at}] += statements * runs
		}
	}
	if err := lines.Err(); err != nil || len(c) == 0 {
		t.Fatalf("%s: no counts: %v", name, err)
	}
	return c
}
