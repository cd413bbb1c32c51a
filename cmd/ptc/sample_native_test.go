package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/compiler"
	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/sample"
)

// sampler is a plan for two sequences on a target, which is open.
func sampler(t *testing.T, source, target, params string, set []string) *sample.Session {
	t.Helper()
	plan, _, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: []byte(source), Set: set, Target: target, Sample: &compiler.Sample{Batch: 2, Prompt: 9}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sample.Open(plan, sample.Options{Init: params, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	if s.Length != 12 {
		t.Fatalf("%d positions", s.Length)
	}
	return s
}

// logits are those of each position of two sequences from one on: those before are a
// prompt, which fills the caches by blocks.
func logits(t *testing.T, s *sample.Session, from int) (all []float64) {
	t.Helper()
	if err := s.Begin(); err != nil {
		t.Fatal(err)
	}
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
	return all
}

// greedy continues two prompts of which one is longer by the most probable tokens.
func greedy(t *testing.T, s *sample.Session) [][]int32 {
	t.Helper()
	out, err := s.Generate(context.Background(), sample.Request{Prompts: [][]int32{{3, 1, 7}, {5, 2, 2, 8, 9, 1, 4, 4, 0, 6}}, Most: 9})
	if err != nil {
		t.Fatal(err)
	}
	return out
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
	for _, name := range []string{"gpt", "llama", "moe", "shift"} {
		t.Run(name, func(t *testing.T) {
			example := strings.Replace(name, "shift", "gpt", 1)
			text, err := os.ReadFile(filepath.Join("..", "..", "examples", example, example+".ptl"))
			if err != nil {
				t.Fatal(err)
			}
			source := strings.Replace(string(text), "data.text(corpus, tokenizer = bytes, window = seq, valid = 0.05)", "data.synthetic_tokens(seq, vocab)", 1)
			if name == "shift" {
				source = strings.Replace(source, "h = x + attn(ln1(x))", "h = x + attn(ln1(x + "+shift+"))", 1)
			}
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
			exact, native := sampler(t, source, "ref:f64", "m.st", set), sampler(t, source, "cpu", "m.st", set)
			want := logits(t, exact, 0)
			most := 0.0
			for _, x := range want {
				most = max(most, math.Abs(x))
			}
			positions := []int{0, 0, 5, 11}
			if name == "moe" { // no padding where tokens are counted
				positions = []int{0, 0, native.Block}
			}
			for _, from := range positions {
				got := logits(t, native, from)
				for i, x := range got {
					if y := want[len(want)-len(got)+i]; !(math.Abs(x-y) <= 1e-5*most) {
						t.Fatalf("from %d on, logit %d is %v, not %v", from, i, x, y)
					}
				}
			}
			if diff := cmp.Diff(greedy(t, exact), greedy(t, native)); diff != "" {
				t.Errorf("prompts are continued otherwise (-reference +native):\n%s", diff)
			}
		})
	}
}

// On a GPU, prompts of different lengths are read and continued as by the reference.
func TestSampleOnGPU(t *testing.T) {
	onFake(t, fakecuda.Options{GPUs: 1, Major: 8, Minor: 9, Memory: 1 << 30})
	trained(t)
	write(t, "lines", "w\nwhat comes of it, a\n")
	sampled := func(target string) string {
		return must(t, "sample", "m.bin", "--init", "m.st", "--prompts", "lines", "--greedy", "--json", "--max-tokens", "4", "--target", target).out
	}
	if diff := cmp.Diff(sampled("ref"), sampled("cuda:sm_89")); diff != "" {
		t.Errorf("the GPU continues otherwise (-reference +GPU):\n%s", diff)
	}
}
