package ptc_test

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ptc"
)

// repeats is a small decoder and a text that it learns at once.
func repeats(dir string) (plan *ptc.Plan, params string, err error) {
	source := `import std.nn
import std.optim
import std.data
config {
  batch = 4
  seq   = 12
  embed = 16
  vocab = 256
  corpus = "*.txt"
}
model Small {
  param wte : [vocab, embed] ~ normal(std = 0.5)
  param w   : [embed, vocab] ~ normal(std = 0.3)
  fn apply(tokens: i32[batch, seq]) -> [batch, seq, vocab] {
    return dot(wte[vocab = tokens], w, over = embed)
  }
}
train Small {
  loss      = nn.cross_entropy(Small(tokens), targets, over = vocab)
  optimizer = optim.AdamW(lr = 5e-2)
  data      = data.text(corpus, window = seq, valid = 0.1)
  steps     = 60
}
`
	model := filepath.Join(dir, "m.ptl")
	if err := os.WriteFile(model, []byte(source), 0o666); err != nil {
		return nil, "", err
	}
	for _, name := range []string{"a.txt", "b.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("abcd", 100)), 0o666); err != nil {
			return nil, "", err
		}
	}
	plan, _, err = ptc.CompileFile(context.Background(), model, ptc.CompileOptions{Target: "ref", Set: []string{"corpus=" + dir + "/*.txt"}})
	if err != nil {
		return nil, "", err
	}
	params = filepath.Join(dir, "trained.safetensors")
	_, err = ptc.Run(context.Background(), plan, ptc.RunOptions{Save: params})
	return plan, params, err
}

func ExampleSample() {
	dir, err := os.MkdirTemp("", "ptc")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	plan, params, err := repeats(dir) // a model of text in which abcd repeats
	if err != nil {
		fmt.Println(err)
		return
	}
	prompt, _ := plan.EncodeText("ab")
	tokens, err := ptc.Sample(context.Background(), plan, [][]int32{prompt}, ptc.SampleOptions{Params: params, Most: 6})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.DecodeText(tokens[0]))
	// Output: cdabcd <nil>
}

func ExampleEvaluate() {
	dir, err := os.MkdirTemp("", "ptc")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	plan, params, err := repeats(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := ptc.Evaluate(context.Background(), plan, ptc.EvalOptions{Params: params, Data: []string{dir + "/a.txt"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("nearly certain:", e.Loss < 0.1, "of", e.Tokens, "tokens")
	// Output: nearly certain: true of 396 tokens
}

func TestSampleOfSeveralPrompts(t *testing.T) {
	plan, params, err := repeats(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	told := make([][]int32, 3)
	prompts := [][]int32{{'a'}, {'b', 'c'}, {'d'}}
	o := ptc.SampleOptions{Params: params, Most: 4, Length: 8, Stop: []int32{'d'}, OnToken: func(i int, id int32) { told[i] = append(told[i], id) }}
	out, err := ptc.Sample(context.Background(), plan, prompts, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"bc", "", "abc"} {
		if text, err := plan.DecodeText(out[i]); text != want || err != nil || !slices.Equal(told[i], out[i]) {
			t.Errorf("%c goes on with %q (%v), want %q; told %v", prompts[i], text, err, want, told[i])
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := ptc.Sample(ctx, plan, prompts, o); err == nil {
		t.Error("sampled when all was over")
	}
}

func TestWhatCannotBeSampled(t *testing.T) {
	plan, params, err := repeats(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	ok := ptc.SampleOptions{Params: params, Most: 2}
	for name, call := range map[string]func() error{
		"an empty prompt": func() error { _, err := ptc.Sample(ctx, plan, [][]int32{{}}, ok); return err },
		"no tokens": func() error {
			_, err := ptc.Sample(ctx, plan, [][]int32{{1}}, ptc.SampleOptions{Params: params})
			return err
		},
		"another token": func() error { _, err := ptc.Sample(ctx, plan, [][]int32{{256}}, ok); return err },
		"no parameters": func() error {
			_, err := ptc.Sample(ctx, plan, [][]int32{{1}}, ptc.SampleOptions{Params: "none", Most: 2})
			return err
		},
		"text of none": func() error { _, err := plan.DecodeText([]int32{-1}); return err },
		"no data": func() error {
			_, err := ptc.Evaluate(ctx, plan, ptc.EvalOptions{Params: params, Data: []string{"none*"}})
			return err
		},
	} {
		if call() == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if out, err := ptc.Sample(ctx, plan, nil, ok); out != nil || err != nil {
		t.Errorf("no prompts: %v (%v)", out, err)
	}
}

// TestLibrariesOfProducts: one that the run would not look at is refused before it begins.
func TestLibrariesOfProducts(t *testing.T) {
	ctx := context.Background()
	plan, _, err := ptc.CompileFile(ctx, "examples/mlp/mlp.ptl", ptc.CompileOptions{Target: "ref", Set: small})
	if err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{"": true, "none": true, "lt": false, "mkl": false} {
		s, err := ptc.Run(ctx, plan, ptc.RunOptions{Steps: 1, BLAS: name, BLASCache: t.TempDir()})
		if ok && (err != nil || math.IsNaN(s.Loss)) {
			t.Errorf("%q: %v", name, err)
		} else if c, is := err.(interface{ ExitCode() int }); !ok && (!is || c.ExitCode() != 2) {
			t.Errorf("%q: error %v", name, err)
		}
	}
}
