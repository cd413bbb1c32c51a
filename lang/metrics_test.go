package lang_test

import (
	"slices"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/lang"
)

const measured = `import std.nn
import std.optim
import std.data
config { batch = 4  seq = 6  embed = 8  vocab = 32  layers = 3 }
module Block {
  w    : nn.Linear(from = embed, to = hidden)
  out  : nn.Linear(from = hidden, to = embed)
  drop : nn.Dropout(rate = 0.1)
  fn apply(x) { return x + drop(out(relu(w(x)))) }
}
model M {
  table  : nn.Embedding(vocab, embed)
  blocks : Block[layers]
  head   : nn.Linear(from = embed, to = vocab)
  fn apply(tokens) {
    h = table(tokens)
    for b in blocks { h = b(h) }
    return head(h)
  }
}
train M {
  loss      = nn.cross_entropy(M(tokens), targets, over = vocab, masked = true) + LOSS
  METRICS
  optimizer = optim.AdamW(lr = 0.1)
  data      = data.synthetic_tokens(seq, vocab)
}
`

// measuredWith is the program with a term of the loss and metrics, without the positions of its
// operations.
func measuredWith(t *testing.T, term, metrics string) *ir.Module {
	t.Helper()
	text := strings.NewReplacer("LOSS", term, "METRICS", metrics, "seq = 6 ", "seq = 6  hidden = 16 ").Replace(measured)
	p, errs := lang.Load("m.ptl", []byte(text), nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	r, errs := p.Lower(lang.Options{})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return r.Module
}

// counts are how many products a function has, and random operations.
func counts(f *ir.Func) (dots, random int) {
	for _, o := range f.Ops {
		if o.Name == "dot" {
			dots++
		}
		if op.Of(o).Class == op.Source && len(o.Args) > 0 {
			random++
		}
	}
	return dots, random
}

// TestMetricsShareTheForwardPass: what a metric and the loss both call is computed once,
// dropout included; a second call within the loss draws other numbers.
func TestMetricsShareTheForwardPass(t *testing.T) {
	plain := measuredWith(t, "0", "")
	with := measuredWith(t, "0", "metrics { accuracy = nn.accuracy(M(tokens), targets, over = vocab, masked = true)  norm = mean(M(tokens) * M(tokens)) }")
	for i, f := range plain.Funcs {
		d, r := counts(f)
		if e, s := counts(with.Funcs[i]); e != d || s != r || d == 0 {
			t.Errorf("@%s has %d products and %d random operations with metrics, %d and %d without", f.Name, e, s, d, r)
		}
	}
	d, r := counts(plain.Func("step"))
	twice := measuredWith(t, "mean(M(tokens))", "metrics { mean = mean(M(tokens)) }")
	if e, s := counts(twice.Func("step")); e != 2*d || s != 2*r || r == 0 {
		t.Errorf("two calls in the loss have %d products and %d random operations, one has %d and %d", e, s, d, r)
	}
	step := with.Func("step")
	var paths []string
	loss := slices.Index(step.Ops, step.Results[0].Value.Def)
	for _, x := range step.Results {
		if strings.HasPrefix(x.Path, "metrics.") {
			paths = append(paths, x.Path)
			if slices.Index(step.Ops, x.Value.Def) > loss {
				t.Errorf("%s is computed behind the loss, which ends the forward phase", x.Path)
			}
		}
	}
	if !slices.Equal(paths, []string{"metrics.accuracy", "metrics.norm"}) {
		t.Errorf("@step reports %v", paths)
	}
}

// TestMetricsChangeNoStep: with metrics a step computes the same loss, gradients and
// parameters, by the same operations.
func TestMetricsChangeNoStep(t *testing.T) {
	text := func(m *ir.Module) (out []string) {
		f := m.Func("step")
		number := map[*ir.Value]string{}
		var of func(v *ir.Value) string
		of = func(v *ir.Value) string {
			if v.Def == nil {
				return v.Type.String()
			}
			if number[v] == "" {
				s := v.Def.Name + v.Def.Attrs.String()
				for _, a := range v.Def.Args {
					s += "(" + of(a) + ")"
				}
				number[v] = s
			}
			return number[v]
		}
		for _, r := range f.Results[:1] {
			out = append(out, of(r.Value))
		}
		for _, r := range f.Results {
			if r.Role == ir.RoleGrad || r.Role == ir.RoleParam || r.Role == ir.RoleState {
				out = append(out, r.Role+" "+r.Path)
			}
		}
		return out
	}
	plain, with := text(measuredWith(t, "0", "")), text(measuredWith(t, "0", "metrics { m = mean(M(tokens)) }  stop { patience = 2  on = m  best = min }"))
	if !slices.Equal(plain, with) {
		t.Error("the loss or the results differ")
	}
}
