package matrix

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Model is an example at a size for tests. Sizes are small, and few are powers
// of two, so that parts of odd sizes occur.
type Model struct {
	Name string
	Set  []string // sizes
	// Tensor are the axes that tensor parallelism cuts.
	Tensor string
	// Drop is a place of the source and the same with dropout, so that what
	// devices draw is compared too: the examples train without.
	Drop [][2]string
}

// decoder are sizes of all the decoders: heads, ffn, vocab and seq can be cut in
// four, which makes parts of 1, 9, 11 and 3.
var decoder = []string{"layers=2", "batch=8", "seq=12", "embed=20", "heads=4", "head=6", "vocab=44", "warmup=2", "steps=20"}

// Models are the examples, in the order of the report.
var Models = []Model{
	{"mlp", []string{"batch=8", "seq=6", "embed=10", "hidden=36", "vocab=44", "steps=30"}, "hidden",
		[][2]string{{"h = tanh(dot(x, w1, over = (seq, embed)) + b1)", "h = drop(tanh(dot(x, w1, over = (seq, embed)) + b1))"},
			{"  param table :", "  drop : nn.Dropout(rate = 0.2)\n  param table :"}}},
	{"gpt", append([]string{"ffn=36"}, decoder...), "heads, ffn, vocab",
		[][2]string{{"h = x + attn(ln1(x))", "h = x + drop(attn(ln1(x)))"}, {"return h + mlp(ln2(h))", "return h + drop(mlp(ln2(h)))"},
			{"  ln1  :", "  drop : nn.Dropout(rate = 0.2)\n  ln1  :"}}},
	// Two heads of keys for four of queries: with tp = 4, fewer than devices.
	{"llama", append([]string{"ffn=36", "kv=2"}, decoder...), "heads, ffn, vocab",
		[][2]string{{"h = x + attn(norm1(x))", "h = x + drop(attn(norm1(x)))"}, {"return h + mlp(norm2(h))", "return h + drop(mlp(norm2(h)))"},
			{"  norm1 :", "  drop  : nn.Dropout(rate = 0.2)\n  norm1 :"}}},
	{"moe", append([]string{"ffn=12", "experts=4"}, decoder...), "heads, ffn, vocab",
		[][2]string{{"h = x + attn(ln1(x))", "h = x + drop(attn(ln1(x)))"}, {"return h + y, aux", "return h + drop(y), aux"},
			{"  ln1  :", "  drop : nn.Dropout(rate = 0.2)\n  ln1  :"}}},
}

// Find is the model of that name.
func Find(name string) (Model, error) {
	for _, m := range Models {
		if m.Name == name {
			return m, nil
		}
	}
	return Model{}, fmt.Errorf("no model %q in the matrix", name)
}

// Source reads the model's example below the root of the module, and puts the
// dropout in.
func (m Model) Source(root string) (string, error) {
	name := filepath.Join(root, "examples", m.Name, m.Name+".ptl")
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	src := string(text)
	for _, d := range m.Drop {
		if n := strings.Count(src, d[0]); n != 1 {
			return "", fmt.Errorf("%s has %q %d times: where dropout goes is out of date", name, d[0], n)
		}
		src = strings.Replace(src, d[0], d[1], 1)
	}
	return src, nil
}
