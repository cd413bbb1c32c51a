package main

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptc/runtime/checkpoint/safetensors/safetensorstest"
	"ptc/runtime/explain"
)

// TestFreeze: after one step and after four what is frozen is the same in the saved
// parameters, to the bit, and no more; it is in checkpoints, and a run goes on from
// one as if it had not stopped; and `ptc explain` counts it.
func TestFreeze(t *testing.T) {
	small := gpt(t)
	write(t, "gpt.ptl", strings.Replace(read(t, "gpt.ptl"), "train GPT {", "train GPT {\n  freeze = [\"blocks.0.*.*\"]\n  eval_every = 2", 1))
	for _, layout := range []string{"single", "three"} {
		plan := compiled(t, small, layout, "")
		must(t, "run", plan, "--steps", "1", "--save", "one")
		log := must(t, "run", plan, "--steps", "4", "--save", "four", "--checkpoint", layout, "--every", "1", "--keep", "2", "--dump-grads", "grads")
		one, four, grads := safetensorstest.Floats(t, "one"), safetensorstest.Floats(t, "four"), safetensorstest.Floats(t, "grads")
		frozen := 0
		for path := range one {
			is := strings.HasPrefix(path, "blocks.0.")
			if is {
				frozen++
			}
			if slices.Equal(one[path], four[path]) != is || (grads[path] == nil) != is {
				t.Errorf("%s: %s: frozen %t, unchanged %t, without a gradient %t", layout, path, is, slices.Equal(one[path], four[path]), grads[path] == nil)
			}
		}
		if frozen != 12 {
			t.Errorf("%s: %d parameters of the first block are saved, not 12", layout, frozen)
		}
		if n := strings.Count(log.out, " validation loss"); n != 2 { // after step 2, and at the end
			t.Errorf("%s: %d validations with eval_every = 2:\n%s", layout, n, log.out)
		}
		left, err := filepath.Glob(layout + "/step-*")
		if err != nil || len(left) != 2 {
			t.Errorf("%s: --keep 2 leaves %v (%v)", layout, left, err)
		}
		must(t, "run", plan, "--steps", "6", "--save", "straight")
		log = must(t, "run", plan, "--steps", "6", "--save", "resumed", "--checkpoint", layout, "--resume", "--eval-every", "0")
		if read(t, "straight") != read(t, "resumed") {
			t.Errorf("%s: a resumed run gives other parameters", layout)
		}
		if n := strings.Count(log.out, " validation loss"); n != 1 {
			t.Errorf("%s: %d validations with --eval-every 0:\n%s", layout, n, log.out)
		}
		r := must(t, "explain", plan)
		for _, want := range []string{" of them in 12 tensors", "parameters with decay: 8 (`wte`, `wpe`, `blocks.1.attn.wq`"} {
			if !strings.Contains(r.out, want) {
				t.Errorf("%s: explain does not say %q:\n%s", layout, want, r.out)
			}
		}
		var d explain.Description
		if err := json.Unmarshal([]byte(must(t, "explain", plan, "--json").out), &d); err != nil {
			t.Fatal(err)
		}
		if x := d.Parameters; x.Frozen.Tensors != 12 || x.Tensors != 28 || x.Frozen.Elements == 0 || x.Frozen.Elements*2 > x.Elements {
			t.Errorf("%s: explain counts %+v", layout, x)
		}
	}
}
