package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/runtime/checkpoint"
)

// documented are the sources and the shell commands of a page, and what commands print.
func documented(t *testing.T, page string) (sources map[string]string, scripts, shown []string) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	sources = map[string]string{}
	for _, m := range regexp.MustCompile("(?s)```([a-z-]*)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		switch m[1] {
		case "ptl", "ptl-part":
			name, _, _ := strings.Cut(strings.TrimPrefix(m[2], "// "), "\n")
			sources[name] = m[2]
		case "sh":
			scripts = append(scripts, m[2])
		case "":
			shown = append(shown, strings.Split(strings.TrimRight(m[2], "\n"), "\n")...)
		}
	}
	return sources, scripts, shown
}

// shell is a shell in which ptc is this program, for the target ref.
func shell(t *testing.T) func(script string) (string, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	wrapper := fmt.Sprintf("#!/bin/sh\nif [ \"$1\" = compile ]; then set -- \"$@\" --target ref; fi\n%s=1 exec %q \"$@\"\n", asMain, self)
	if err := os.WriteFile(filepath.Join(bin, "ptc"), []byte(wrapper), 0o777); err != nil {
		t.Fatal(err)
	}
	return func(script string) (string, error) {
		c := exec.Command("sh", "-e", "-c", script)
		c.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := c.CombinedOutput()
		return string(out), err
	}
}

// corpora writes the text that the page trains on.
func corpora(t *testing.T) {
	t.Helper()
	random := rand.New(rand.NewPCG(7, 1))
	for _, folder := range []string{"web", "books", "code"} {
		if err := os.Mkdir(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		for i := range 3 {
			var b strings.Builder
			for range 2500 {
				fmt.Fprintf(&b, "%s%d ", folder, random.IntN(40))
			}
			write(t, filepath.Join(folder, fmt.Sprint(i, ".txt")), b.String())
		}
	}
}

// manifestPhases are the phases of the latest checkpoint in a folder, shortly.
func manifestPhases(t *testing.T, dir string) (out []string) {
	t.Helper()
	c, err := checkpoint.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, p := range c.Meta.Phases {
		text := fmt.Sprintf("step %d, batch %d, window %s, %d examples of", p.First, p.Batch, p.Sources[0].Facts["window"], p.Examples)
		for _, s := range p.Sources {
			text += fmt.Sprintf(" %d%%", s.Share/100)
		}
		out = append(out, text)
	}
	return out
}

// TestDocumentedPhases: the commands of docs/phases.md do what the page says, and started again they
// do nothing; interrupted in any phase and started again, they end alike.
func TestDocumentedPhases(t *testing.T) {
	sources, scripts, shown := documented(t, filepath.Join("..", "..", "docs", "phases.md"))
	t.Chdir(t.TempDir())
	corpora(t)
	for name, text := range sources {
		write(t, name, text)
	}
	run, said := shell(t), ""
	for i, script := range scripts {
		if i == 1 { // without --new-data it is refused, as the page shows
			out, err := run(strings.ReplaceAll(script, "--new-data", ""))
			if err == nil {
				t.Errorf("other data is taken:\n%s", out)
			}
			said += out
		}
		out, err := run(script)
		if err != nil {
			t.Fatalf("%s%v\n%s", script, err, out)
		}
		said += out
	}
	for _, line := range shown {
		line, _, _ = strings.Cut(line, "…")
		if !strings.Contains(said, line) {
			t.Errorf("the page shows %q, and what is printed is\n%s", line, said)
		}
	}
	want := []string{"step 1, batch 2, window 32, 20 examples of 90% 10%", "step 11, batch 4, window 32, 40 examples of 90% 10%", "step 21, batch 8, window 32, 80 examples of 90% 10%",
		"step 31, batch 8, window 32, 80 examples of 50% 50%", "step 41, batch 4, window 64, 40 examples of 50% 50%", "step 51, batch 4, window 64, 80 examples of 30% 20% 50%"}
	if diff := cmp.Diff(want, manifestPhases(t, "ckpt")); diff != "" {
		t.Error(diff)
	}
	if got := manifestPhases(t, "try"); len(got) != 6 || !strings.HasPrefix(got[5], "step 51") {
		t.Errorf("the try has the phases %q", got)
	}
	model := read(t, "ckpt/step-00000070/model.safetensors")
	all := strings.Join(scripts[:len(scripts)-1], "")
	if out, err := run(all); err != nil || strings.Contains(out, "saved") {
		t.Errorf("started again: %v\n%s", err, out)
	}
	if err := os.RemoveAll("ckpt"); err != nil {
		t.Fatal(err)
	}
	runs := regexp.MustCompile(`(?m)^ptc run .*$`).FindAllString(all, -1)
	for _, x := range []struct {
		line  int
		steps string
	}{{1, "13"}, {4, "44"}} {
		script := slices.Clone(runs)
		script[x.line] = regexp.MustCompile(`--steps \d+`).ReplaceAllString(script[x.line], "--steps "+x.steps) // as Ctrl-C, it ends without an error
		out, err := run(strings.Join(script, "\n"))
		if want := "but checkpoint ckpt/step-000000" + x.steps + " is of step " + x.steps; err == nil || !strings.Contains(out, want) {
			t.Errorf("line %d is interrupted, and the next one begins: %v\n%s", x.line, err, out)
		}
	}
	if out, err := run(strings.Join(runs, "\n")); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if read(t, "ckpt/step-00000070/model.safetensors") != model {
		t.Error("interrupted and started again, it ends with other parameters")
	}
	if diff := cmp.Diff(want, manifestPhases(t, "ckpt")); diff != "" {
		t.Error(diff)
	}
}
