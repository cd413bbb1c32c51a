// Package lora_test trains the example: a base, then its adapters.
package lora_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptc/compiler"
	"ptc/runtime/checkpoint/safetensors/safetensorstest"
	"ptc/runtime/program"
	"ptc/runtime/train"
)

// small are sizes at which the reference is quick as well.
var small = []string{"layers=2", "embed=16", "heads=2", "head=8", "seq=16", "batch=8", "steps=80", "warmup=10", "lr=1e-2"}

// compile compiles the example at small sizes. Without LLVM the reference stands in
// for native code.
func compile(t *testing.T, file, layout string, set ...string) *program.Plan {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	target := "cpu"
	if os.Getenv("PTC_LLVM") == "none" {
		target = "ref"
	}
	p, r, err := compiler.Compile(compiler.Options{File: file, Source: src, Set: append(slices.Clone(small), set...), Layout: layout, Target: target})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Warnings) > 0 {
		t.Errorf("%q", r.Warnings)
	}
	return p
}

func run(t *testing.T, p *program.Plan, o train.Options) train.Summary {
	t.Helper()
	s, err := train.Run(context.Background(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestAdapts trains a base, then adapters on other text: they leave the base as it was, to
// the bit, have states for themselves alone, and lower the loss. Under two stages and two
// halves of the batch the same is frozen.
func TestAdapts(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	base := compile(t, "../gpt/gpt.ptl", "single", "corpus=${GOROOT}/src/{strconv,strings}/*.go")
	run(t, base, train.Options{Save: at("base")})
	for _, layout := range []string{"single", "two_d"} {
		p := compile(t, "lora.ptl", layout, "rank=2")
		for _, d := range p.Devices {
			for _, x := range d.Tensors {
				if strings.Contains(x.Path, "/") && !strings.Contains(x.Path, ".lora_") {
					t.Errorf("layout %s: a state %s of a frozen parameter", layout, x.Path)
				}
			}
		}
		first := run(t, p, train.Options{Init: at("base"), Steps: 1})
		tuned := run(t, p, train.Options{Init: at("base"), Save: at(layout)})
		same(t, at("base"), at(layout))
		t.Logf("layout %s: validation loss %.3f, %.3f with adapters", layout, first.ValLoss, tuned.ValLoss)
		if !(tuned.ValLoss < first.ValLoss-0.05) {
			t.Errorf("layout %s: the adapters change the validation loss from %.4f to %.4f", layout, first.ValLoss, tuned.ValLoss)
		}
	}
}

// same checks that the parameters of a base are the same with adapters.
func same(t *testing.T, base, adapted string) {
	t.Helper()
	a, b := safetensorstest.Bytes(t, base), safetensorstest.Bytes(t, adapted)
	if len(b) <= len(a) {
		t.Errorf("%d parameters with adapters, %d without", len(b), len(a))
	}
	for name, x := range a {
		if !bytes.Equal(x, b[name]) {
			t.Errorf("%s: %s is not the base's", adapted, name)
		}
	}
}
