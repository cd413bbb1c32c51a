package compiler

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/verify"
	"ptc/lang"
	"ptc/passes/pass"
	"ptc/passes/roll"
)

// model is a program around a body of `apply` and members of the model.
func model(blocks, members, apply string) string {
	return `import std.nn
import std.optim
import std.data
config { layers = 6  batch = 4  seq = 8  embed = 8  ffn = 16  vocab = 11 }
` + blocks + `
model M {
  param wte : [vocab, embed] ~ normal(std = 0.02)
  ` + members + `
  fn apply(tokens: i32[batch, seq]) -> [batch, seq, vocab] {
    x = wte[vocab = tokens]
    ` + apply + `
    return dot(x, wte, over = embed)
  }
}
train M {
  loss = nn.cross_entropy(M(tokens), targets, over = vocab)
  optimizer = optim.AdamW(lr = 1e-3, clip = 1.0)
  data = data.synthetic_tokens()
  steps = 2
}
`
}

const (
	mlp   = "module B { mlp : nn.MLP\n fn apply(x) { return x + mlp(x) } }\n"
	kindC = "module C { mlp : nn.MLP\n fn apply(x) { return x + 0.5 * mlp(x) } }\n"
	noisy = "module B { mlp : nn.MLP\n drop : nn.Dropout(rate = 0.2)\n fn apply(x) { return x + drop(mlp(x)) } }\n"
)

// What is repeated is written once, whatever the source's way to say it, and
// written out again it is what it was.
func TestWhatIsRepeatedIsWrittenOnce(t *testing.T) {
	for _, c := range []struct {
		name, source string
		stacks       []string // of @step, with their counts
	}{
		{"blocks", model(mlp, "blocks : B[layers]", "for b in blocks { x = b(x) }"), []string{"blocks 6"}},
		{"random numbers", model(noisy, "blocks : B[layers]", "for b in blocks { x = b(x) }"), []string{"blocks 6"}},
		{"work between blocks", model(mlp, "blocks : B[layers]", "for b in blocks { x = 0.9 * b(x) }"), []string{"blocks 6"}},
		{"two lists", model(mlp, "up : B[layers]\n down : B[4]", "for b in up { x = b(x) }\n for b in down { x = b(x) }"), []string{"up 6", "down 4"}},
		{"two kinds in turn", model(mlp+kindC, "a : B[layers]\n b : C[layers]", "for p in a { x = p(x) }\n for p in b { x = p(x) }"), []string{"a 6", "b 6"}},
		{"one list used twice", model(mlp, "blocks : B[layers]", "for b in blocks { x = b(x) }\n for b in blocks { x = b(x) }"), []string{"blocks 6"}},
		{"a residual over all", model(mlp, "blocks : B[layers]", "y = x\n for b in blocks { x = b(x) + y }"), []string{"blocks 6"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := loweredOnly(t, c.source, "")
			plain := ir.Print(m)
			if err := roll.Run(&pass.Context{}, m); err != nil {
				t.Fatal(err)
			}
			if errs := verify.Module(m); len(errs) > 0 {
				t.Fatal(errs)
			}
			f := m.Func("step")
			var have []string
			for _, s := range f.Stacks {
				have = append(have, s.Name+" "+ir.Int(s.Count).String())
			}
			if !slices.Equal(have, c.stacks) {
				t.Errorf("stacks %v, want %v\n%s", have, c.stacks, ir.PrintFunc(f))
			}
			text := ir.Print(m)
			again, errs := ir.Parse("rolled", []byte(text))
			if len(errs) > 0 || ir.Print(again) != text {
				t.Errorf("the text does not read back: %v", errs)
			}
			if sorted(ir.Print(m.Unrolled())) != sorted(plain) {
				t.Error("written out, it is something else than before")
			}
			for _, f := range m.Funcs {
				if n := len(f.Unrolled().Ops); len(f.Stacks) > 0 && len(f.Ops) > n/2 {
					t.Errorf("@%s: %d operations for %d", f.Name, len(f.Ops), n)
				}
			}
		})
	}
}

// loweredOnly is a source as the language lowers it.
func loweredOnly(t *testing.T, source, layout string) *ir.Module {
	t.Helper()
	p, errs := lang.Load("m.ptl", []byte(source), nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	r, errs := p.Lower(lang.Options{Layout: layout})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return r.Module
}

var values = regexp.MustCompile(`%\d+`)

// sorted is a text without the numbers of values, line by line in order: constants
// may stand elsewhere.
func sorted(text string) string {
	lines := strings.Split(values.ReplaceAllString(text, "%"), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// Every example is rolled and written out again.
func TestExamplesRoll(t *testing.T) {
	for _, name := range []string{"gpt", "llama", "lora", "moe"} {
		src, err := os.ReadFile("../examples/" + name + "/" + name + ".ptl")
		if err != nil {
			t.Fatal(err)
		}
		m := loweredOnly(t, string(src), "")
		plain := ir.Print(m)
		if err := roll.Run(&pass.Context{}, m); err != nil {
			t.Fatal(err)
		}
		if len(m.Func("step").Stacks) != 1 || len(m.Func("eval").Stacks) != 1 {
			t.Errorf("%s: nothing is repeated", name)
		}
		if sorted(ir.Print(m.Unrolled())) != sorted(plain) {
			t.Errorf("%s: written out, it is something else than before", name)
		}
	}
}
