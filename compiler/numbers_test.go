package compiler

import (
	"fmt"
	"strings"
	"testing"

	"ptc/runtime/program"
)

// numbersModel is a model whose loss and data are given.
const numbersModel = `import std.nn
import std.optim
import std.data
config { batch = 2  seq = 4  embed = 8  vocab = 16  classes = 5 }
model M {
  param wte : [vocab, embed]   ~ normal(std = 0.5)
  param out : [embed, classes] ~ normal(std = 0.5)
  fn apply(x: i32[batch, seq]) -> [batch, seq, classes] { return dot(wte[vocab = x], out, over = embed) }
}
train M {
  loss      = %s
  optimizer = optim.SGD(lr = 1e-2)
  data      = %s
  steps     = 1
}
`

const (
	arraysData = `data.arrays(x = "x.npy", y = "y.npy", x_type = i32[batch, seq], y_type = i32[batch, seq])`
	tokensData = `data.tokens("t.bin", documents = %t)`
)

// A plan says which numbers its arrays may have, and the compiler warns of targets of -1 that a
// loss counts.
func TestNumbersOfFields(t *testing.T) {
	for _, c := range []struct {
		loss, data, pins, warning string
	}{
		{"nn.cross_entropy(M(x), y, over = classes)", arraysData, "x_below=16 y_below=5 y_least=0", ""},
		{"nn.cross_entropy(M(x), y, over = classes, masked = true)", arraysData, "x_below=16 y_below=5", ""},
		{"mean(where(y < 4, M(x)[classes = y], 0))", arraysData, "x_below=16", ""},
		{"nn.cross_entropy(where(y != -1, M(x), 0), y, over = classes)", arraysData, "x_below=16 y_below=5", ""},
		{"nn.cross_entropy(where(y == -100, 0, M(x)), y, over = classes)", arraysData, "x_below=16", ""},
		{"nn.cross_entropy(where(0 <= y, M(x), 0), y, over = classes)", arraysData, "x_below=16 y_below=5", ""},
		{"nn.cross_entropy(where(-1 < y, M(x), 0), y, over = classes)", arraysData, "x_below=16 y_below=5", ""},
		{"nn.cross_entropy(where(cast(y, f32) >= 0, M(x), 0), y, over = classes)", arraysData, "x_below=16 y_below=5", ""},
		{"nn.cross_entropy(M(x), max(y, 0), over = classes)", arraysData, "x_below=16", ""},
		{"mean(M(x)[classes = y.rename(seq = seq)])", arraysData, "x_below=16 y_below=5", ""},
		{"mean(M(x)[classes = y + 1])", arraysData, "x_below=16", ""},
		{"nn.cross_entropy(M(tokens), targets, over = classes)", fmt.Sprintf(tokensData, true), "below=5", "first tokens of documents"},
		{"nn.cross_entropy(M(tokens), targets, over = classes)", fmt.Sprintf(tokensData, false), "below=5", ""},
		{"nn.cross_entropy(M(tokens), targets, over = classes, masked = true)", fmt.Sprintf(tokensData, true), "below=5", ""},
		{"nn.cross_entropy(M(tokens), targets, over = classes)", `data.tokens("t.jsonl", tokenizer = bytes, prompt = "p")`, "below=5", "tokens of prompts"},
		{"mean(M(tokens)[classes = 0..1])", `data.text("t.txt")`, "", ""}, // as the axis vocab
		{"nn.cross_entropy(M(tokens), targets, over = classes)", `data.text("t.txt")`, "below=5", ""},
		{"nn.cross_entropy(M(tokens), targets, over = classes)", `data.mix(0.5 * data.tokens("a.bin", documents = true), 0.5 * data.tokens("b.bin", documents = true))`, "1.below=5 2.below=5", "first tokens of documents"},
	} {
		p, r, err := Compile(Options{File: "m.ptl", Source: []byte(fmt.Sprintf(numbersModel, c.loss, c.data)), Target: "ref"})
		if err != nil {
			t.Fatal(c.loss, c.data, err)
		}
		if got := pinned(p); got != c.pins {
			t.Errorf("%s: %s, want %s", c.loss, got, c.pins)
		}
		found := strings.Join(r.Warnings, "\n")
		if strings.Contains(found, "-1") != (c.warning != "") || !strings.Contains(found, c.warning) {
			t.Errorf("%s of %s: warnings %q, want %q", c.loss, c.data, found, c.warning)
		}
		again, _, err := Rebuild(p, "")
		if err != nil {
			t.Fatal(err)
		}
		if diff := Differences(p, again); len(diff) > 0 {
			t.Errorf("%s: made anew, the plan differs in %v", c.loss, diff)
		}
	}
}

func pinned(p *program.Plan) string {
	var out []string
	for _, kv := range p.Data.Options {
		if strings.HasSuffix(kv.Key, "below") || strings.HasSuffix(kv.Key, "_least") {
			out = append(out, kv.Key+"="+kv.Value)
		}
	}
	return strings.Join(out, " ")
}
