package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/compiler"
	"ptc/runtime/sample"
)

// logits are those of each position of two sequences, on a target.
func logits(t *testing.T, source, target, params string, set []string) (all []float64) {
	t.Helper()
	plan, _, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: []byte(source), Set: set, Target: target, Sample: &compiler.Sample{Batch: 2}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sample.Open(plan, sample.Options{Init: params, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if s.Length != 12 {
		t.Fatalf("%d positions", s.Length)
	}
	for range 2 { // the second time, caches begin anew
		if err := s.Begin(); err != nil {
			t.Fatal(err)
		}
		all = all[:0]
		for at := range s.Length {
			x, err := s.Position(at, []int32{int32(5 * at % 16), int32((at*at + 3) % 16)})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, x...)
		}
	}
	return all
}

// Native code computes the logits that the reference computes in f64, up to rounding.
func TestNativeLogits(t *testing.T) {
	for _, name := range []string{"gpt", "llama", "moe"} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("..", "..", "examples", name, name+".ptl"))
			if err != nil {
				t.Fatal(err)
			}
			source := strings.Replace(string(text), "data.text(corpus, tokenizer = bytes, window = seq, valid = 0.05)", "data.synthetic_tokens(seq, vocab)", 1)
			var set []string
			for _, s := range []string{"layers=2", "embed=8", "heads=4", "head=4", "ffn=12", "seq=12", "batch=2", "vocab=16", "std=0.5"} {
				if k, _, _ := strings.Cut(s, "="); strings.Contains(source, "  "+k+" ") {
					set = append(set, s)
				}
			}
			t.Chdir(t.TempDir())
			write(t, "m.ptl", source)
			var flags []string
			for _, s := range set {
				flags = append(flags, "--set", s)
			}
			must(t, with(flags, "compile", "m.ptl", "-o", "m.bin", "-q", "--target", "ref:f64")...)
			must(t, "run", "m.bin", "--steps", "1", "--save", "m.st")
			want, got := logits(t, source, "ref:f64", "m.st", set), logits(t, source, "cpu", "m.st", set)
			most := 0.0
			for _, x := range want {
				most = max(most, math.Abs(x))
			}
			for i, x := range got {
				if d := math.Abs(x - want[i]); !(d <= 1e-5*most) {
					t.Fatalf("logit %d is %v, not %v", i, x, want[i])
				}
			}
		})
	}
}
