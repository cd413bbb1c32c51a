package lang

import (
	"maps"
	"math/rand"
	"os"
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
	evaluate "ptc/ir/eval"
	array "ptc/ir/tensor"
)

// adapted is an example with adapters: their lines in its train block, at a small size.
func adapted(t *testing.T, name, loras string) *Result {
	t.Helper()
	src, err := os.ReadFile("../examples/" + name + "/" + name + ".ptl")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Replace(string(src), "  steps     = steps\n", "  steps     = steps\n"+loras, 1)
	if !strings.Contains(text, loras) {
		t.Fatalf("%s: there is no place for adapters", name)
	}
	p, errs := Load("m.ptl", []byte(text), nil)
	if len(errs) > 0 {
		t.Fatal(diag.Plain.Render(errs, p.Source))
	}
	var set []Override
	for _, kv := range []string{"layers=2", "batch=2", "seq=5", "embed=6", "heads=2", "head=4", "ffn=7", "vocab=11", "warmup=2"} {
		k, v, _ := strings.Cut(kv, "=")
		set = append(set, Override{Key: k, Value: v})
	}
	r, errs := p.Lower(Options{Set: set})
	if len(errs) > 0 {
		t.Fatal(diag.Plain.Render(errs, p.Source))
	}
	return r
}

// lossOf evaluates validation with given parameters.
func lossOf(t *testing.T, r *Result, params map[string]*array.Tensor) float64 {
	t.Helper()
	f := r.Module.Func("eval")
	rnd := rand.New(rand.NewSource(5)) // the batch
	var args []*array.Tensor
	for _, a := range f.Args {
		x := params[a.Path]
		if a.Role == ir.RoleData {
			x = array.New(a.Value.Type)
			for i := range x.Data {
				x.Data[i] = float64(rnd.Intn(11))
			}
		}
		if x == nil || !x.Type.Equal(a.Value.Type) {
			t.Fatalf("no value of %s %q", a.Value.Type, a.Path)
		}
		args = append(args, x)
	}
	out, err := evaluate.Func(r.Module, f, args, evaluate.Options{Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	return out[0].Data[0]
}

// merge adds an adapter's product to its parameter, element by element.
func merge(w, down, up *array.Tensor, scale float64) *array.Tensor {
	sum := array.New(w.Type)
	each(w.Type, func(i int, at map[string]int) {
		x := 0.0
		for r := range down.Type.Size("lora_rank") {
			at["lora_rank"] = r
			x += element(down, at) * element(up, at)
		}
		sum.Data[i] = w.Data[i] + scale*x
	})
	return sum
}

func element(x *array.Tensor, at map[string]int) float64 {
	i := 0
	for k, s := range x.Type.Strides() {
		i += s * at[x.Type.Axes[k].Name]
	}
	return x.Data[i]
}

// TestLora: a model with adapters computes what the model without them computes with the
// products of the adapters added to its parameters: of projections over one axis and over
// two, of a table that is looked up and multiplied, of experts, which are an axis that both
// factors have.
func TestLora(t *testing.T) {
	for _, c := range []struct {
		name, loras string
		count       int
		scale       float64
	}{
		{"gpt", "  lora { rank = 3  alpha = 6  on = blocks.*.attn.wq, **.wo, wte }\n", 5, 2},
		{"gpt", "  lora { on = **.mlp.w1 }\n  lora { on = **.mlp.w2  alpha = 8 }\n", 4, 1},
		{"llama", "  lora { rank = 1  alpha = 0.5  on = blocks.1.** }\n", 7, 0.5},
		{"moe", "  lora { rank = 2  alpha = 3  on = **.moe.w1, **.moe.w2 }\n", 4, 1.5},
	} {
		with, without := adapted(t, c.name, c.loras), adapted(t, c.name, "")
		rnd := rand.New(rand.NewSource(9))
		params := map[string]*array.Tensor{}
		for _, a := range with.Module.Func("eval").Args {
			if a.Role != ir.RoleParam {
				continue
			}
			x := array.New(a.Value.Type)
			for i := range x.Data {
				x.Data[i] = 0.3 * rnd.NormFloat64()
			}
			params[a.Path] = x
		}
		sums, adapters := maps.Clone(params), 0
		for path, down := range params {
			if path, ok := strings.CutSuffix(path, ".lora_down"); ok {
				sums[path] = merge(params[path], down, params[path+".lora_up"], c.scale)
				adapters++
			}
		}
		if adapters != c.count {
			t.Errorf("%s%s%d adapters, want %d", c.name, c.loras, adapters, c.count)
		}
		got, want := lossOf(t, with, params), lossOf(t, without, sums)
		if d := got - want; d > 1e-12 || d < -1e-12 {
			t.Errorf("%s%sloss %.15g, with the sums %.15g", c.name, c.loras, got, want)
		}
		if base := lossOf(t, without, params); base == want {
			t.Errorf("%s: adapters change nothing", c.name)
		}
	}
}

// TestLoraTrainsItself: with adapters, these alone are trained, and a product never has
// the sum of a parameter and its adapter.
func TestLoraTrainsItself(t *testing.T) {
	r := adapted(t, "gpt", "  lora { on = blocks.*.attn.** }\n")
	step := r.Module.Func("step")
	for _, a := range step.Args {
		if path, _, of := strings.Cut(a.Path, "/"); of && !strings.Contains(path, ".lora_") {
			t.Errorf("a state of %s", path)
		}
	}
	for _, o := range step.Ops {
		if len(o.Results) == 1 && o.Results[0].Type.Has("head") && o.Results[0].Type.Has("embed") {
			t.Errorf("%s of %s", o.Name, o.Results[0].Type)
		}
	}
}
