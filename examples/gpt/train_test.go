// Package gpt_test trains the example as it is.
package gpt_test

import (
	"context"
	"math"
	"os"
	"testing"

	"ptc/compiler"
	"ptc/runtime/data"
	"ptc/runtime/program"
	"ptc/runtime/train"
)

// margin is how far, in nats per byte, the trained model must be below the
// bigram model: well beyond the noise of the validation batches.
const margin = 0.1

// TestBeatsBigram trains the default model on the standard library's sources,
// through its whole schedule in a third of the steps, and compares its
// validation loss with that of a model that knows the frequency of each pair of
// neighbouring bytes in the same training text.
func TestBeatsBigram(t *testing.T) {
	if os.Getenv("PTC_LLVM") == "none" {
		t.Skip("PTC_LLVM=none: the default size takes native code; the reference would need an hour")
	}
	if testing.Short() {
		t.Skip("trains for about 20 seconds")
	}
	src, err := os.ReadFile("gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	p, _, err := compiler.Compile(compiler.Options{File: "gpt.ptl", Source: src, Set: []string{"steps=400"}, Target: "cpu"})
	if err != nil {
		t.Fatal(err)
	}
	base := bigram(t, p)
	s, err := train.Run(context.Background(), p, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("validation loss %.4f after %d steps; bigram model %.4f", s.ValLoss, s.Steps, base)
	if !(s.ValLoss < base-margin) {
		t.Errorf("validation loss %.4f is not clearly below the bigram model's %.4f", s.ValLoss, base)
	}
}

// bigram is the loss, in nats per byte, on the validation text, of next-byte
// frequencies after each byte in one epoch of the training text, with one
// occurrence added to each.
func bigram(t *testing.T, p *program.Plan) float64 {
	t.Helper()
	const size, window = 8, 128
	var opts []data.Option
	for _, o := range p.Data.Options {
		opts = append(opts, data.Option{Key: o.Key, Value: o.Value})
	}
	source, err := data.Open(p.Data.Kind, opts, data.Batch{Size: size, Window: window, Vocab: 256})
	if err != nil {
		t.Fatal(err)
	}
	views := make([]data.View, len(source.Fields()))
	at := map[string]int{}
	for i, f := range source.Fields() {
		views[i].I32 = make([]int32, size*window)
		at[f.Name] = i
	}
	tokens, targets := views[at["tokens"]].I32, views[at["targets"]].I32
	var pairs [256][256]float64
	var total [256]float64
	for step := int64(1); step <= source.Tokens()/(size*window); step++ {
		if err := source.Fill(step, views); err != nil {
			t.Fatal(err)
		}
		for i, b := range tokens {
			pairs[b][targets[i]]++
			total[b]++
		}
	}
	var loss float64
	n := 0
	batch := source.Fields()[0].Shape[0]
	for i := range min(int(source.Held())/batch, 200) {
		if err := source.HeldOut(func(row int) int64 { return int64(i*batch + row) }, views); err != nil {
			t.Fatal(err)
		}
		for j, b := range tokens {
			loss -= math.Log((pairs[b][targets[j]] + 1) / (total[b] + 256))
			n++
		}
	}
	return loss / float64(n)
}
