package hf

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/compiler"
	"ptc/compiler/family"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/tensor"
	"ptc/lang"
	"ptc/lang/syntax"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/program"
	"ptc/runtime/weights"
	"ptc/stdlib"
)

// cases is the folder of the models: that of `make hf-check`, or testdata.
func cases(t *testing.T) []string {
	t.Helper()
	dir := os.Getenv("PTC_HF_CASES")
	if dir == "" {
		dir = "testdata"
	}
	list, err := filepath.Glob(filepath.Join(dir, "*", "logits.json"))
	if err != nil || len(list) < 9 {
		t.Fatalf("%d cases in %s: %v", len(list), dir, err)
	}
	for i := range list {
		list[i] = filepath.Dir(list[i])
	}
	return list
}

// expected is what transformers computed.
type expected struct {
	Tokens     []float64 `json:"tokens"`
	Batch, Seq int
	Logits     []float64 `json:"logits"`
}

// Every family of std.models computes what its class of transformers computes.
func TestLogits(t *testing.T) {
	seen := map[string]bool{}
	for _, dir := range cases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			var want expected
			text, err := os.ReadFile(filepath.Join(dir, "logits.json"))
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			c, n, source := imported(t, dir)
			name, _ := c.Get("model_type")
			seen[fmt.Sprint(name)] = true
			path := filepath.Join(t.TempDir(), "init.safetensors")
			importTo(t, dir, n, path)
			got := logits(t, fmt.Sprint(name), source, path, &want)
			if len(got) != len(want.Logits) {
				t.Fatalf("%d logits, not %d", len(got), len(want.Logits))
			}
			worst := 0.0
			for i, x := range got {
				worst = max(worst, math.Abs(x-want.Logits[i]))
			}
			if !(worst < 1e-5) {
				t.Errorf("logits differ by %g", worst)
			}
		})
	}
	for _, f := range family.Known() {
		if !seen[f] {
			t.Errorf("there is no case of the family %s", f)
		}
	}
}

// imported is a folder's config, the names of its model for a format, and the source.
func imported(t *testing.T, dir string) (weights.Config, *program.Names, string) {
	t.Helper()
	c, err := weights.ReadConfig(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = c.Read(); err != nil {
		t.Fatal(err)
	}
	kind, _ := c.Get("model_type")
	source, err := family.Source(fmt.Sprint(kind), c.Get, "")
	if err != nil {
		t.Fatal(err)
	}
	names, r, err := compiler.Names(compiler.Options{File: "model.ptl", Source: []byte(source)})
	if err != nil {
		if errs, ok := err.(diag.List); ok {
			t.Fatal(diag.Plain.Render(errs, r.Source))
		}
		t.Fatal(err)
	}
	if err := c.Check(&names[0]); err != nil {
		t.Fatal(err)
	}
	return c, &names[0], source
}

func importTo(t *testing.T, dir string, n *program.Names, path string) {
	t.Helper()
	f, err := weights.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := weights.Import(f, n, path); err != nil {
		t.Fatal(err)
	}
}

// logits evaluates the model of the source in float64.
func logits(t *testing.T, name, source, path string, x *expected) []float64 {
	t.Helper()
	text, _ := stdlib.Read("models/" + name)
	tree, errs := syntax.Parse("std.ptl", []byte(text))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	model := ""
	for _, d := range tree.Decls {
		if d, ok := d.(*syntax.Train); ok {
			model = d.Model.Name
		}
	}
	source += fmt.Sprintf("import std.data\nimport std.optim\ntrain %s {\n  loss = mean(%s(tokens))\n  optimizer = optim.SGD(lr = 1)\n  data = data.synthetic_tokens()\n}\n", model, model)
	p, errs := lang.Load("model.ptl", []byte(source), nil)
	if len(errs) > 0 {
		t.Fatal(diag.Plain.Render(errs, p.Source))
	}
	r, errs := p.Lower(lang.Options{Set: []lang.Override{{Key: "batch", Value: fmt.Sprint(x.Batch)}, {Key: "seq", Value: fmt.Sprint(x.Seq)}}})
	if len(errs) > 0 {
		t.Fatal(diag.Plain.Render(errs, p.Source))
	}
	f := r.Module.Func("eval")
	f.Results[0].Value = beforeMean(f)
	out, err := eval.Func(r.Module, f, arguments(t, f, path, x), eval.Options{Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	return out[0].Data
}

// beforeMean is what the loss is the mean of: the last value with axes.
func beforeMean(f *ir.Func) *ir.Value {
	var last *ir.Value
	for _, o := range f.Ops {
		for _, v := range o.Results {
			if v.Type.Rank() == 3 {
				last = v
			}
		}
	}
	return last
}

func arguments(t *testing.T, f *ir.Func, path string, x *expected) []*tensor.Tensor {
	t.Helper()
	file, err := safetensors.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var args []*tensor.Tensor
	for _, a := range f.Args {
		v := tensor.New(a.Value.Type)
		switch a.Role {
		case ir.RoleParam:
			have := file.Find(a.Path)
			if have == nil {
				t.Fatalf("%s is not imported", a.Path)
			}
			data := make([]byte, have.Bytes())
			if err := file.ReadSlice(a.Path, safetensors.Slice{}, data); err != nil {
				t.Fatal(err)
			}
			have.DType.Decode(v.Data, data)
		case ir.RoleData:
			if !strings.HasPrefix(a.Path, "tokens") {
				t.Fatalf("an argument %s", a.Path)
			}
			copy(v.Data, x.Tokens)
		}
		args = append(args, v)
	}
	return args
}

// What is imported and exported again has the same bits.
func TestRoundTrip(t *testing.T) {
	for _, dir := range cases(t) {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			_, n, _ := imported(t, dir)
			tmp := t.TempDir()
			path, out := filepath.Join(tmp, "init.safetensors"), filepath.Join(tmp, "out")
			importTo(t, dir, n, path)
			src, err := weights.OpenFile(path)
			if err != nil {
				t.Fatal(err)
			}
			defer src.Close()
			if err := weights.Export(src, n, out, weights.Options{Shard: 2000}); err != nil {
				t.Fatal(err)
			}
			again := filepath.Join(tmp, "again.safetensors")
			importTo(t, out, n, again)
			a, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(again)
			if err != nil {
				t.Fatal(err)
			}
			if string(a) != string(b) {
				t.Error("the parameters differ after export and import")
			}
			c, err := weights.ReadConfig(out)
			if err != nil {
				t.Fatal(err)
			}
			if c, err = c.Read(); err != nil {
				t.Fatal(err)
			}
			if err := c.Check(n); err != nil {
				t.Error(err)
			}
		})
	}
}

// A source may train the model of an import in its own way; the import's train block is
// then not taken.
func TestOwnTraining(t *testing.T) {
	source := "import std.models.llama\nimport std.nn\nimport std.optim\nimport std.data\n" +
		"config { layers = 1  embed = 8  heads = 2  kv = 1  head = 4  ffn = 6  vocab = 11  seq = 4 }\n" +
		"train Llama {\n  loss = nn.cross_entropy(Llama(tokens), targets, over = vocab)\n  optimizer = optim.SGD(lr = 1)\n  data = data.synthetic_tokens()\n  steps = 3\n}\n"
	p, r, err := compiler.Compile(compiler.Options{File: "m.ptl", Source: []byte(source), Target: "ref"})
	if err != nil {
		t.Fatal(err, r.Warnings)
	}
	if p.Data.Steps != 3 || len(p.Names) != 2 {
		t.Errorf("%d steps and %d blocks of names", p.Data.Steps, len(p.Names))
	}
	again, _, err := compiler.Rebuild(p, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := compiler.Differences(p, again); len(diff) > 0 {
		t.Errorf("made anew of its sources, the plan differs in %v", diff)
	}
}
