package compiler

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/verify"
	"ptc/lang"
	"ptc/passes/pass"
	"ptc/passes/roll"
)

var omittedPrograms = flag.Int("omitted", 150, "random programs that are lowered with omitted instances and without")

// omittedKinds are blocks B, and C where a program has two kinds.
var omittedKinds = []string{
	"mlp : nn.MLP\n fn apply(x) { return x + mlp(x) }",
	"ln : nn.LayerNorm\n mlp : nn.MLP(bias = false)\n fn apply(x) { return x + 0.5 * mlp(ln(x)) }",
	"mlp : nn.MLP\n drop : nn.Dropout(rate = 0.2)\n fn apply(x) { return x + drop(mlp(x)) }",
	"inner : nn.MLP[2]\n fn apply(x) { for m in inner { x = x + m(x) }\n return x }",
	"param w : [embed, out = embed] ~ normal(std = 0.1)\n param g : [embed] ~ ones decay\n fn apply(x) { return x + (x * g).dot(w, over = embed).rename(out = embed) }",
	"param w : bf16[embed] ~ ones\n fn apply(x) { return x + x * cast(w, x) }",
	"drop : nn.Dropout(rate = 0.2)\n fn apply(x) { return x + drop(x) }",
	"mlp : nn.MLP\n fn apply(x) { return x + stop_gradient(mlp(x)) }",
	"mlp : nn.MLP\n fn apply(x) { return x + mlp(stop_gradient(x)) }",
	"mlp : nn.MLP\n fn apply(x) { return x + mlp(x) if training else x - mlp(x) }",
	"ln : nn.RMSNorm\n let half = 1 / 2\n mlp : nn.SwiGLU\n param s : [embed] ~ zeros when half < 1\n fn apply(x) { return half * x + mlp(ln(x)) + s }",
}

// regularLoops are what a model does with the list LIST alike for each module of it, so
// that some are omitted; otherLoops are all else.
var (
	regularLoops = []string{
		"for b in LIST { x = b(x) }",
		"for b in LIST { x = 0.9 * b(x) }",
		"for b in LIST { x = b(x * 0.9) }",
		"y = x\n for b in LIST { x = b(x) + y }",
		"for b in LIST { x = b(x) }\n for b in LIST { x = b(x) }",
		"a = x\n c = x\n for b in LIST { t = b(x) + c\n a = b(a)\n c = a\n x = t }",
		"for b in LIST { x = b(x)\n last = b }\n x = last(x)",
		"for b in LIST { x = b(x) + random_uniform(x) if training else b(x) }\n x = x + random_normal(x) if training else x",
		"for k in (1, 2) { for b in LIST { x = b(x) * k } }",
		"x = through(LIST, x)",
		"for b in LIST { x = b(x)\n x = x.rename(seq = t).rename(t = seq) }",
	}
	otherLoops = []string{
		"for b in LIST { h = b(x)\n x = x + h }\n x = x + h",
		"k = 0\n for b in LIST { k = k + 1\n x = b(x) / k }",
		"k = 1\n for b in LIST { k = 1 - k\n x = b(x) + k }",
		"k = 0\n for b in LIST { if k < 3 { x = x + 1 }\n k = k + 1\n x = b(x) }",
		"k = 0\n for b in LIST { k = k + 1\n x = b(x)\n if k == 6 { x = x + 1 } }",
		"k = 0\n for b in LIST { k = min(k + 1, 2)\n x = b(x) * k }",
		"k = 0\n for b in LIST { k = min(k + 1, 3)\n x = b(x) * k }",
		"a = x\n for b in LIST { t = b(a)\n a = x\n x = t }",
		"a = x\n c = x\n for b in LIST { t = b(a)\n a = c\n c = x\n x = t }",
		"c = x\n d = x\n e = x\n for b in LIST { n = b(e)\n x = x + c\n c = d * 2\n d = e * 2\n e = n }",
		"total = 0\n for b in LIST { x = b(x)\n total = total + mean(x, over = (batch, seq, embed)) }\n x = x + total",
		"first = LIST[0]\n for b in LIST { x = b(x) + first(x) }",
		"x = LIST[len(LIST) - 1](x)\n for b in LIST { x = b(x) }",
		"x = LIST[floor(len(LIST) / 2)](x)",
		"prev = LIST[0]\n for b in LIST { x = b(x) + prev(x)\n prev = b }",
		"for b in (LIST[0], LIST[len(LIST) - 1]) { x = b(x) }",
		"for b in LIST { for c in LIST { x = c(x) } }",
		"x = early(LIST, x)",
		"x = x * len(LIST)",
		"for b in LIST { pair = (x, b)\n x = b(x) }\n x = x + mean(x) * pair[1](pair[0])",
		"for b in LIST { x = b(x)\n w = x.rename(seq = other) }\n x = x + mean(w, over = other)",
	}
)

// omittedSource is a random program with repeated modules.
func omittedSource(d *rand.Rand) string {
	pick := func(list ...string) string { return list[d.IntN(len(list))] }
	loop := func(list string) string {
		body := pick(regularLoops...)
		if d.IntN(2) == 0 {
			body = pick(otherLoops...)
		}
		return strings.ReplaceAll(body, "LIST", list)
	}
	members, apply := "blocks : B[layers]", loop("blocks")
	switch d.IntN(5) {
	case 0:
		members += "\n others : C[more]"
		apply += "\n " + loop("others")
	case 1:
		members = "blocks : Pair[layers]"
	case 2:
		members += "\n part : Part"
		apply = "x = part(x)\n " + apply
	}
	layers := 7 + d.IntN(8)
	if d.IntN(6) == 0 {
		layers = 1 + d.IntN(6)
	}
	number := strconv.Itoa(d.IntN(layers))
	pattern := func() string {
		return "[\"" + pick("wte", "blocks.0.**", "**.b1", "blocks.**", "**.w*", "blocks."+number+".**", "blocks."+number+".**", "blocks.1*.**") + "\"]"
	}
	optimizer := pick("optim.AdamW(lr = 1e-3, clip = 1.0)", "optim.SGD(lr = 0.1)", "optim.Lion(lr = 0.1, weight_decay = 0)",
		"optim.AdamW(lr = 1e-3, no_decay = "+pattern()+")", "optim.AdamW(lr = 1e-3, decay = "+pattern()+")", "Noisy(lr = 0.1)")
	if d.IntN(4) == 0 {
		optimizer += "\n  freeze = " + pattern()
	}
	rule := pick("", "", "", "replicate blocks."+number, "replicate blocks.*", "recompute B", "recompute blocks."+number, "recompute blocks",
		"pipeline blocks over pp { microbatches = 2 }", "recompute blocks."+number+" { keep = [] }")
	return fmt.Sprintf(omittedText, layers, 4+d.IntN(9), pick(omittedKinds...), pick(omittedKinds...), members, apply, optimizer, rule)
}

const omittedText = `import std.nn
import std.optim
import std.data
config { layers = %d  more = %d  batch = 4  seq = 8  embed = 8  ffn = 16  vocab = 11 }
module B { %s }
module C { %s }
module Part {
  inside : B[more]
  fn apply(x) { for b in inside { x = b(x) }
    return x }
}
module Pair {
  inside : B[2]
  fn apply(x) { for b in inside { x = b(x) }
    return x }
}
fn through(list, x) {
  for m in list { x = m(x) }
  return x
}
fn early(list, x) {
  for m in list { x = m(x)
    if true { return x } }
  return x
}
optimizer Noisy(lr) { fn update(w, g) { return w - lr * (g + random_normal(g)) } }
model M {
  param wte : [vocab, embed] ~ normal(std = 0.02)
  %s
  fn apply(tokens: i32[batch, seq]) -> [batch, seq, vocab] {
    x = wte[vocab = tokens]
    %s
    return dot(x, wte, over = embed)
  }
}
train M {
  loss = nn.cross_entropy(M(tokens), targets, over = vocab)
  optimizer = %s
  data = data.synthetic_tokens()
  steps = 2
}
layout l {
  mesh dp = 2, pp = 1
  shard batch over dp
  %s
}
`

// A program is lowered to the same text whether its repeated modules are written
// one by one and rolled, or omitted from the start.
func TestOmittedAsWritten(t *testing.T) {
	programs, omits, writes, mistakes := *omittedPrograms, 0, 0, 0
	if testing.Short() {
		programs = min(programs, 40)
	}
	for seed := range uint64(programs) {
		source := omittedSource(rand.New(rand.NewPCG(seed, 1)))
		p, errs := lang.Load("m.ptl", []byte(source), nil)
		if len(errs) > 0 {
			t.Fatalf("%v\n%s", errs, source)
		}
		omitted, ok := omittedAsWritten(t, p, lang.Options{Layout: "l"})
		switch {
		case !ok:
			mistakes++
		case omitted:
			omits++
		default:
			writes++
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, source)
		}
	}
	t.Logf("%d programs with omitted instances, %d without, %d with mistakes", omits, writes, mistakes)
	if omits < programs/4 || writes < programs/4 {
		t.Errorf("of %d programs %d omit instances and %d do not", programs, omits, writes)
	}
}

// What a loop does alike for each module it does for the omitted ones, random numbers
// and all.
func TestRegularLoopsOmit(t *testing.T) {
	for _, kind := range omittedKinds[:4] {
		for i, body := range slices.Concat(regularLoops, otherLoops) {
			source := fmt.Sprintf(omittedText, 9, 6, kind, kind, "blocks : B[layers]", strings.ReplaceAll(body, "LIST", "blocks"), "optim.AdamW(lr = 1e-3, clip = 1.0)", "")
			p, errs := lang.Load("m.ptl", []byte(source), nil)
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			omits, ok := omittedAsWritten(t, p, lang.Options{Layout: "l"})
			if !ok || omits != (i < len(regularLoops)) {
				t.Errorf("instances are omitted: %t, without mistakes: %t\n%s", omits, ok, source)
			}
		}
	}
}

// Deep examples omit instances in every layout, and are what they are written out.
func TestExamplesOmit(t *testing.T) {
	for _, name := range []string{"gpt", "llama", "lora", "moe"} {
		src, err := os.ReadFile("../examples/" + name + "/" + name + ".ptl")
		if err != nil {
			t.Fatal(err)
		}
		p, errs := lang.Load(name+".ptl", src, nil)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		o := lang.Options{Set: []lang.Override{{Key: "layers", Value: "12"}}}
		r, errs := p.Lower(o)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		for _, o.Layout = range r.Layouts {
			if omits, ok := omittedAsWritten(t, p, o); !ok || !omits {
				t.Errorf("%s, layout %s: instances are omitted: %t, without mistakes: %t", name, o.Layout, omits, ok)
			}
		}
	}
}

// omittedAsWritten compares what the program is lowered to with all instances written
// and without: modules when they are rolled, or mistakes, where ok is false.
func omittedAsWritten(t *testing.T, p *lang.Program, o lang.Options) (omits, ok bool) {
	t.Helper()
	written, rolled := &pass.Context{Pass: "roll"}, &pass.Context{Pass: "roll"}
	want, wantErrs := p.Lower(o)
	have, haveErrs := lowerOnce(p, o, rolled)
	if fmt.Sprint(wantErrs) != fmt.Sprint(haveErrs) {
		t.Errorf("mistakes:\n%v\nwant\n%v", haveErrs, wantErrs)
	}
	if len(wantErrs) > 0 {
		return false, false
	}
	for c, m := range map[*pass.Context]*ir.Module{written: want.Module, rolled: have.Module} {
		if err := roll.Run(c, m); err != nil {
			t.Fatal(err)
		}
	}
	if errs := verify.Module(have.Module); len(errs) > 0 {
		t.Error(errs)
	}
	if a, b := ir.Print(have.Module), ir.Print(want.Module); a != b {
		t.Errorf("omitted:\n%s\nwritten:\n%s", a, b)
	}
	if a, b := said(have, rolled), said(want, written); !slices.Equal(a, b) {
		t.Errorf("omitted: %q, written: %q", a, b)
	}
	return len(have.Omitted) > 0, true
}

// said is what a lowering says besides its module.
func said(r *lang.Result, c *pass.Context) []string {
	out := []string{fmt.Sprint(r.Params, r.Elems, r.Unused, r.Config)}
	out = append(append(out, r.Warnings...), r.Remarks...)
	for _, x := range c.Remarks {
		out = append(out, x.String())
	}
	return out
}
