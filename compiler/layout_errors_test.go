package compiler

import (
	"os"
	"strings"
	"testing"

	"ptc/internal/diag"
)

// What passes refuse is shown at the directive that asked for it, and said once.
func TestPassesRefuseLayouts(t *testing.T) {
	for _, c := range []struct{ rules, code, says string }{
		{"mesh pp = 2\n  pipeline blocks over pp { schedule = 1f1b  chunks = 2  microbatches = 4 }", "E0610", "schedule 1f1b keeps 1 chunk on each device"},
		{"mesh pp = 2\n  pipeline blocks over pp { schedule = zb_v  chunks = 1  microbatches = 4 }", "E0610", "schedule zb_v keeps 2 chunks on each device, found 1"},
		{"mesh dp = 1\n  device memory = 64 KiB", "E0611", "at most 64.0 KiB"},
		{"mesh dp = 2  shard batch over dp\n  forbid all_reduce on wte", "E0612", "all_reduce over dp moves `wte`"},
	} {
		src := "import \"../examples/gpt/gpt.ptl\"\nconfig { layers = 4  batch = 4096  seq = 8  embed = 8  heads = 2  head = 4  ffn = 16 }\nlayout l {\n  " + c.rules + "\n}\n"
		_, r, err := Compile(Options{File: "l.ptl", Source: []byte(src), Read: os.ReadFile, Target: "ref"})
		errs, ok := diag.As(err)
		if !ok || len(errs) != 1 {
			t.Errorf("%s: %v", c.rules, err)
			continue
		}
		text := diag.Plain.Render(errs, r.Source)
		if e := errs[0]; e.Code != c.code || e.Pos.File != "l.ptl" || e.Pos.Line != 5 || strings.Count(text, c.says) != 1 {
			t.Errorf("%s: %s at line 5 of l.ptl with %q once expected, found\n%s", c.rules, c.code, c.says, text)
		}
	}
}
