package lang_test

import (
	"math"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/tensor"
	"ptc/ir/verify"
	"ptc/lang"
)

// load reads an example.
func load(t *testing.T, name string) *lang.Program {
	t.Helper()
	src, err := os.ReadFile(filepath.Join("../examples", name, name+".ptl"))
	if err != nil {
		t.Fatal(err)
	}
	p, errs := lang.Load(name+".ptl", src, nil)
	if len(errs) > 0 {
		t.Fatal(diag.Plain.Render(errs, p.Source))
	}
	return p
}

func lower(t *testing.T, p *lang.Program, o lang.Options) *lang.Result {
	t.Helper()
	r, errs := p.Lower(o)
	if len(errs) > 0 {
		t.Fatal(diag.Plain.Render(errs, p.Source))
	}
	return r
}

// small sets sizes at which the reference evaluator is quick.
var small = map[string][]lang.Override{
	"mlp":   {{Key: "batch", Value: "3"}, {Key: "seq", Value: "4"}, {Key: "embed", Value: "5"}, {Key: "hidden", Value: "6"}},
	"gpt":   {{Key: "layers", Value: "2"}, {Key: "batch", Value: "2"}, {Key: "seq", Value: "8"}, {Key: "embed", Value: "16"}, {Key: "heads", Value: "2"}, {Key: "head", Value: "8"}},
	"llama": {{Key: "layers", Value: "2"}, {Key: "batch", Value: "2"}, {Key: "seq", Value: "8"}, {Key: "embed", Value: "16"}, {Key: "heads", Value: "4"}, {Key: "head", Value: "4"}, {Key: "ffn", Value: "24"}},
	"lora":  {{Key: "layers", Value: "2"}, {Key: "batch", Value: "8"}, {Key: "seq", Value: "8"}, {Key: "embed", Value: "16"}, {Key: "heads", Value: "2"}, {Key: "head", Value: "8"}},
	"moe":   {{Key: "layers", Value: "2"}, {Key: "batch", Value: "4"}, {Key: "seq", Value: "8"}, {Key: "embed", Value: "16"}, {Key: "heads", Value: "2"}, {Key: "head", Value: "8"}},
}

// Every layout of every example lowers to a module that verifies and reads
// back as it was written.
func TestExamplesLower(t *testing.T) {
	for name, set := range small {
		p := load(t, name)
		first := lower(t, p, lang.Options{})
		for _, layout := range first.Layouts {
			for _, o := range []lang.Options{{Layout: layout}, {Layout: layout, Set: set}} {
				if layout == "three_d" && o.Set != nil {
					o.Set = append(o.Set[:len(o.Set):len(o.Set)], lang.Override{Key: "batch", Value: "16"})
				}
				r := lower(t, p, o)
				if errs := verify.Module(r.Module); len(errs) > 0 {
					t.Errorf("%s, layout %s: %v", name, layout, errs)
				}
				text := ir.Print(r.Module)
				m, errs := ir.Parse(name, []byte(text))
				if len(errs) > 0 {
					t.Fatalf("%s, layout %s: %v", name, layout, errs)
				}
				if ir.Print(m) != text {
					t.Errorf("%s, layout %s: the module does not read back as it was written", name, layout)
				}
				if again := ir.Print(lower(t, p, o).Module); again != text {
					t.Errorf("%s, layout %s: lowered again, the module differs", name, layout)
				}
			}
		}
	}
}

// initial is a tensor as an argument of an entry function starts.
func initial(r *rand.Rand, a *ir.Arg, vocab int) *tensor.Tensor {
	x := tensor.New(a.Value.Type)
	init, _ := a.Attrs.Get("init").(ir.Term)
	for i := range x.Data {
		switch {
		case a.Role == ir.RoleData:
			x.Data[i] = float64(r.Intn(vocab))
		case init.Head == "normal":
			x.Data[i] = init.Args.Float("mean", 0) + init.Args.Float("std", 1)*r.NormFloat64()
		case init.Head == "ones":
			x.Data[i] = 1
		}
	}
	return x
}

// Before training, every byte is about as likely as any other.
func TestExamplesStartAtChance(t *testing.T) {
	for name, set := range small {
		r := lower(t, load(t, name), lang.Options{Set: set})
		f := r.Module.Func("eval")
		rng := rand.New(rand.NewSource(1))
		var args []*tensor.Tensor
		for _, a := range f.Args {
			args = append(args, initial(rng, a, 256))
		}
		out, err := eval.Func(r.Module, f, args, eval.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if loss := out[0].Data[0]; math.Abs(loss-math.Log(256)) > 0.05 {
			t.Errorf("%s starts with a loss of %.4f, chance is %.4f", name, loss, math.Log(256))
		}
	}
}

// A slip in an example is found where it stands, with what was meant.
func TestSlipInExample(t *testing.T) {
	src, err := os.ReadFile("../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	bad := strings.ReplaceAll(string(src), "over = embed)", "over = embedd)")
	p, errs := lang.Load("bad.ptl", []byte(bad), nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	_, errs = p.Lower(lang.Options{})
	lines := strings.Split(bad, "\n")
	found := 0
	for _, e := range errs {
		if e.Code != "E0203" || e.Hint != "did you mean `embed`?" || !strings.HasPrefix(lines[e.Pos.Line-1][e.Pos.Col-1:], "embedd)") {
			t.Errorf("found %v", e)
		}
		found++
	}
	// All but those that follow from another: the logits get no tensor.
	if want := strings.Count(bad, "embedd") - 1; found != want || want < 3 {
		t.Errorf("%d errors for %d slips", found, want)
	}
}

// Lowering costs little, whatever the depth: the bounds are far above what it
// takes, so that only a change of order fails.
func TestDeepModelsLowerQuickly(t *testing.T) {
	p := load(t, "gpt")
	r := lower(t, p, lang.Options{Set: []lang.Override{{Key: "layers", Value: "48"}, {Key: "embed", Value: "1600"}, {Key: "heads", Value: "25"}, {Key: "head", Value: "64"}}})
	if n := len(r.Module.Func("step").Ops); n < 48*100 || n > 48*500 {
		t.Errorf("48 layers lower to %d operations", n)
	}
	if r.Params != 48*12+4 {
		t.Errorf("48 layers have %d parameters", r.Params)
	}
}

func BenchmarkLower(b *testing.B) {
	src, err := os.ReadFile("../examples/gpt/gpt.ptl")
	if err != nil {
		b.Fatal(err)
	}
	for _, layers := range []string{"12", "48"} {
		b.Run(layers, func(b *testing.B) {
			for range b.N {
				p, _ := lang.Load("gpt.ptl", src, nil)
				if _, errs := p.Lower(lang.Options{Set: []lang.Override{{Key: "layers", Value: layers}}}); len(errs) > 0 {
					b.Fatal(errs)
				}
			}
		})
	}
}

// A slip in the name of an axis is no outer product: attention whose keys keep
// the axis of the queries, and a bias under a misspelt name.
func TestSlipsOfAxes(t *testing.T) {
	for _, c := range []struct{ name, from, to, code string }{
		{"gpt", "k = dot(x, wk, over = embed).rename(seq = kseq)", "k = dot(x, wk, over = embed)", "E0222"},
		{"mlp", "param b1    : [hidden]", "param b1    : [hiden = 256]", "E0222"},
	} {
		src, err := os.ReadFile(filepath.Join("../examples", c.name, c.name+".ptl"))
		if err != nil {
			t.Fatal(err)
		}
		text := strings.Replace(string(src), c.from, c.to, 1)
		if text == string(src) {
			t.Fatalf("%s has no %q", c.name, c.from)
		}
		p, errs := lang.Load("main.ptl", []byte(text), nil)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		_, errs = p.Lower(lang.Options{})
		if len(errs) == 0 || errs[0].Code != c.code {
			t.Errorf("%s: %v", c.name, errs)
		}
	}
}
