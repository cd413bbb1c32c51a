package compiler

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"ptc/backend"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/lang"
	"ptc/passes"
	"ptc/passes/pass"
)

var (
	autoCases = flag.Int("autos", 2, "layouts of TestAutoIsNeverWorse; make random takes more")
	autoSeed  = flag.Uint64("autoseed", 6, "seed of the random layouts of TestAutoIsNeverWorse")
)

// planned is what a plan takes under some rules: bytes of a device, and the arithmetic
// that the backward phase repeats.
type planned struct {
	peak, step int64
	flops      float64
}

// plannedUnder takes a program with rules in its layout through all passes, up to the
// places of buffers.
func plannedUnder(t *testing.T, source, rules string, set []string) (p planned, err error) {
	t.Helper()
	source = strings.ReplaceAll(source, "RULES", rules)
	prog, errs := lang.Load("m.ptl", []byte(source), nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	sets, err := overrides(set)
	if err != nil {
		t.Fatal(err)
	}
	low, errs := prog.Lower(lang.Options{Layout: "auto", Set: sets})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	target, err := backend.Resolve("ref")
	if err != nil {
		t.Fatal(err)
	}
	see := func(_ int, name string, m *ir.Module, _ time.Duration) error {
		switch name {
		case "remat":
			for _, o := range m.Func("step").Ops {
				if o.Remat {
					p.flops += float64(o.Times()) * float64(op.Of(o).Flops(o))
				}
			}
		case "memory":
			for _, f := range m.Funcs {
				if f.Name == "step" || f.Of == "step" {
					p.peak = max(p.peak, f.Attrs.Int("arena", 0))
				}
			}
		}
		return nil
	}
	err = passes.Run(&pass.Context{Target: described(target)}, low.Module, &passes.Options{Stop: "memory", Hooks: []passes.Hook{see}})
	return p, err
}

// writtenRules are rules that a user would write for these models.
var writtenRules = []string{"", "recompute Block", "recompute Attention", "recompute MLP", "recompute Attention\n recompute MLP",
	"recompute Block { keep = [attn] }", "recompute Block { keep = [mlp] }", "recompute Block { keep = [ln1, ln2] }", "recompute blocks", "recompute *"}

// compareAuto compares what auto does within budgets, from the least that a written rule
// takes to all that is kept without one, with those rules: where one fits auto fits, and
// repeats no more.
func compareAuto(t *testing.T, source string, set, rules []string, parts []float64) {
	t.Helper()
	var all []planned
	for _, r := range rules {
		p, err := plannedUnder(t, source, r, set)
		if err != nil {
			t.Fatalf("%s: %v", r, err)
		}
		all = append(all, p)
	}
	least, most := all[0].peak, all[0].peak
	for _, p := range all {
		least = min(least, p.peak)
	}
	for _, part := range parts {
		budget := least + int64(part*float64(most-least))
		best, by := -1.0, ""
		for i, p := range all {
			if p.peak <= budget && (best < 0 || p.flops < best) {
				best, by = p.flops, rules[i]
			}
		}
		got, err := plannedUnder(t, source, fmt.Sprintf("recompute auto\n device memory = %d", budget), set)
		switch {
		case err != nil:
			t.Errorf("%.2f: %d bytes: %v; %q fits", part, budget, err, by)
		case got.peak > budget:
			t.Errorf("%.2f: %d bytes of %d", part, got.peak, budget)
		case got.flops > best*(1+1e-9):
			t.Errorf("%.2f: %d bytes: %.5g FLOP are repeated, by %q %.5g", part, budget, got.flops, by, best)
		default:
			t.Logf("%.2f: %d bytes of %d: %.5g FLOP, by %q %.5g", part, got.peak, budget, got.flops, by, best)
		}
	}
}

// autoLayouts are layouts of which all stages, shards and microbatches differ; the first
// are those of every run of the tests.
var autoLayouts = []string{
	"mesh dp = 2\n shard batch over dp\n zero 3 over dp\n precision { compute = bf16 }",
	"mesh pp = 2\n pipeline blocks over pp { schedule = interleaved chunks = 2 microbatches = 4 }\n precision { compute = bf16 }",
	"mesh dp = 1",
	"mesh dp = 2, tp = 2\n shard batch over dp\n shard heads, ffn, vocab over tp\n shard seq over tp between Block\n zero 1 over dp\n precision { compute = bf16 params = bf16 }",
	"mesh pp = 2\n pipeline blocks over pp { schedule = 1f1b microbatches = 4 }",
	"mesh dp = 2, pp = 2\n shard batch over dp\n pipeline blocks over pp { schedule = zb_h1 microbatches = 4 }\n zero 2 over dp",
	"mesh pp = 4\n pipeline blocks over pp { schedule = interleaved chunks = 2 microbatches = 4 }",
	"mesh pp = 2\n pipeline blocks over pp { schedule = gpipe microbatches = 2 }\n precision { compute = bf16 }",
}

// randomAuto is a layout of up to three dimensions.
func randomAuto(d *rand.Rand) string {
	mesh, rules := "mesh dp = 2", "shard batch over dp"
	if d.IntN(2) == 0 {
		rules += fmt.Sprintf("\n zero %d over dp", 1+d.IntN(3))
	}
	if d.IntN(3) == 0 {
		mesh, rules = mesh+", tp = 2", rules+"\n shard heads, ffn, vocab over tp"
		if d.IntN(2) == 0 {
			rules += "\n shard seq over tp between Block"
		}
	}
	if d.IntN(2) == 0 {
		mesh += fmt.Sprint(", pp = ", 2*(1+d.IntN(2)))
		schedules := []string{"gpipe", "1f1b", "zb_h1", "interleaved chunks = 2", "zb_v chunks = 2", "breadth_first chunks = 2"}
		rules += fmt.Sprintf("\n pipeline blocks over pp { schedule = %s microbatches = 4 }", schedules[d.IntN(len(schedules))])
	}
	return mesh + "\n " + rules + []string{"", "\n precision { compute = bf16 }", "\n precision { compute = bf16 params = bf16 }"}[d.IntN(3)]
}

// autoSource is a model of blocks, with dropout or without.
func autoSource(t *testing.T, layout string, dropout bool) string {
	t.Helper()
	src, err := os.ReadFile("../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	text := string(src)
	if dropout {
		text = strings.Replace(text, "  fn apply(x) {\n    h = x + attn(ln1(x))\n    return h + mlp(ln2(h))", "  drop : nn.Dropout(rate = 0.1)\n\n  fn apply(x) {\n    h = x + drop(attn(ln1(x)))\n    return h + drop(mlp(ln2(h)))", 1)
		if !strings.Contains(text, "drop(") {
			t.Fatal("the example has no such block")
		}
	}
	return text + "\nlayout auto {\n " + layout + "\n RULES\n}\n"
}

// If a rule that a user could write fits a device's memory, so does `recompute auto`, and
// it repeats no more: in pipelines of several depths, with shards of several kinds.
func TestAutoIsNeverWorse(t *testing.T) {
	d := rand.New(rand.NewPCG(27, *autoSeed))
	for i := range *autoCases {
		layout, parts := "", []float64{0, 0.6, 1}
		if i < len(autoLayouts) {
			layout = autoLayouts[i]
		} else {
			layout = randomAuto(d)
			parts = []float64{0, 0.3 * d.Float64(), 0.3 + 0.7*d.Float64(), 1}
		}
		sizes := []int{[]int{64, 1024}[d.IntN(2)], 8 + 4*d.IntN(2)}
		set := []string{fmt.Sprint("layers=", sizes[1]), "batch=16", "seq=64", "embed=64", "heads=4", "head=16", "ffn=256", fmt.Sprint("vocab=", sizes[0])}
		dropout := d.IntN(3) == 0
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Log(layout, set, dropout)
			compareAuto(t, autoSource(t, layout, dropout), set, writtenRules, parts)
		})
	}
}

// What is said of a budget in which nothing fits is true: the least that was found, and by
// which rule.
func TestAutoTooLittle(t *testing.T) {
	source := autoSource(t, "mesh dp = 1", false)
	set := []string{"layers=2", "batch=4", "seq=32", "embed=64", "heads=4", "head=16", "ffn=256", "vocab=64"}
	for rules, code := range map[string]string{"recompute auto\n device memory = 300 KiB": "E0611", "recompute auto { budget = 8 KiB }": "E0613"} {
		_, err := plannedUnder(t, source, rules, set)
		e, ok := err.(*diag.Error)
		if !ok || e.Code != code || len(e.Note) == 0 || !strings.Contains(e.Note[0].Msg, "the smallest of") {
			t.Errorf("%s: %v", rules, err)
		}
		t.Log(e, e.Note)
	}
}

// A plan that was tried and chosen is the one that is made anew where hooks look at modules.
func TestAutoTriedIsMade(t *testing.T) {
	defer func(old bool) { verifyAlways = old }(verifyAlways)
	verifyAlways = false
	set := []string{"layers=2", "batch=4", "seq=32", "embed=64", "heads=4", "head=16", "ffn=256", "vocab=64"}
	source := strings.ReplaceAll(autoSource(t, "mesh dp = 1", false), "RULES", "recompute auto { budget = 900 KiB }")
	o := Options{File: "m.ptl", Source: []byte(source), Layout: "auto", Target: "ref", Set: set}
	got, r, err := Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	o.Hooks = []Hook{func(int, string, func() string, time.Duration) error { return nil }}
	want, q, err := Compile(o)
	if err != nil {
		t.Fatal(err)
	}
	if d := Differences(got, want); len(d) > 0 {
		t.Error("they differ in", d)
	}
	if len(r.Stages) != len(q.Stages) {
		t.Error("stages", r.Stages, q.Stages)
	}
	for _, x := range r.Remarks {
		if x.Pass == "remat" {
			t.Log(x.Text)
		}
	}
}
