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

// logits are those of each position of two sequences, on a target, from a position on:
// those before are a prompt, which fills the caches by blocks.
func logits(t *testing.T, source, target, params string, set []string, from int) (all []float64) {
	t.Helper()
	plan, _, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: []byte(source), Set: set, Target: target, Sample: &compiler.Sample{Batch: 2, Prompt: 9}})
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
		for at := 0; at < from; at += s.Block {
			tokens := make([]int32, 2*s.Block)
			for i := range s.Block {
				tokens[i], tokens[s.Block+i] = token(0, at+i), token(1, at+i)
			}
			if err := s.Fill(at, tokens); err != nil {
				t.Fatal(err)
			}
		}
		for at := from; at < s.Length; at++ {
			x, err := s.Position(at, []int32{token(0, at), token(1, at)})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, x...)
		}
	}
	return all
}

// token is that of a sequence at a position.
func token(sequence, at int) int32 {
	if sequence == 0 {
		return int32(5 * at % 16)
	}
	return int32((at*at + 3) % 16)
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
			for _, s := range []string{"layers=4", "embed=8", "heads=4", "head=4", "ffn=12", "seq=12", "batch=2", "vocab=16", "std=0.5"} {
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
			want := logits(t, source, "ref:f64", "m.st", set, 0)
			most := 0.0
			for _, x := range want {
				most = max(most, math.Abs(x))
			}
			equal := func(from int) {
				got := logits(t, source, "cpu", "m.st", set, from)
				for i, x := range got {
					if y := want[len(want)-len(got)+i]; !(math.Abs(x-y) <= 1e-5*most) {
						t.Fatalf("from %d on, logit %d is %v, not %v", from, i, x, y)
					}
				}
			}
			if equal(0); name != "moe" { // experts read prompts token by token
				equal(5)
				equal(11)
			}
		})
	}
}
