package gpu

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"ptc/compiler"
)

// TestMeasuredTokens: what measure.py trains on, for ptc and its peers alike, is one batch of tokens from all over the
// vocabulary, and its sources compile.
func TestMeasuredTokens(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	const batch, seq, vocab = 8, 64, 256
	for _, model := range []string{"gpt", "llama"} {
		dir := t.TempDir()
		cmd := exec.Command(python, "-B", "-c", `import sys; sys.path.insert(0, sys.argv[1]); import measure
measure.source(sys.argv[2], "m", sys.argv[3], dict(batch=8, seq=64, vocab=256))`, here, filepath.Join(here, "../../examples"), model)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		text, err := os.ReadFile(filepath.Join(dir, "m.ptl"))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: text, Layout: "measured", Target: "ref",
			Set: []string{"layers=1", "batch=8", "seq=64", "vocab=256", "corpus=" + filepath.Join(dir, "m.tokens")}}); err != nil {
			t.Error(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, "m.tokens"))
		if err != nil || len(b) != 2*(batch*seq+1) {
			t.Fatalf("%d bytes, %v", len(b), err)
		}
		seen := map[uint16]bool{}
		for ; len(b) > 0; b = b[2:] {
			seen[binary.LittleEndian.Uint16(b)] = true
		}
		if len(seen) < vocab/2 {
			t.Errorf("%s: %d kinds of tokens of %d", model, len(seen), vocab)
		}
		for x := range seen {
			if x >= vocab {
				t.Errorf("token %d", x)
			}
		}
	}
}
