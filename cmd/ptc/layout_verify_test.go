package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const autoLayout = `
layout best auto {
  mesh on a100_80 : 1 x 4
  keep precision { compute = bf16 }
  allow rows = 2, tp = 1, pp <= 2, recompute in (none)
  minimize step_time
}
`

// TestLayoutVerify: the certificate that a search writes holds, and a changed one does not.
func TestLayoutVerify(t *testing.T) {
	model, err := os.ReadFile(filepath.Join("..", "..", "examples", "gpt", "gpt.ptl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	write(t, "gpt.ptl", string(model)+autoLayout)
	const sizes = "--set layers=2 --set batch=16"
	args := func(command string, more ...string) []string {
		return append(append([]string{"layout", command, "gpt.ptl", "--layout", "best"}, strings.Fields(sizes)...), more...)
	}
	must(t, args("auto", "-o", "found.ptl", "--certificate", "found.json")...)
	if r := must(t, args("verify", "found.json")...); !strings.Contains(r.out, "the certificate holds: ") || !strings.Contains(r.out, "in full") {
		t.Error(r.out)
	}
	text, err := os.ReadFile("found.json")
	if err != nil {
		t.Fatal(err)
	}
	write(t, "forged.json", strings.Replace(string(text), `"ps":`, `"ps":1`, 1))
	write(t, "cut.json", string(text[:len(text)/2]))
	for _, x := range []struct{ file, want string }{{"forged.json", "forged.json: the certificate does not hold: leaves["}, {"cut.json", "it is not whole"}, {"none.json", "none.json"}} {
		if r := ptc(t, args("verify", x.file)...); r.code != exitInput || !strings.Contains(r.err, x.want) {
			t.Errorf("%s: exit code %d: %s", x.file, r.code, r.err)
		}
	}
	if r := ptc(t, "layout", "verify", "gpt.ptl", "found.json"); r.code != exitInput || !strings.Contains(r.err, "another config: layers is 2") {
		t.Errorf("exit code %d: %s", r.code, r.err)
	}
}
