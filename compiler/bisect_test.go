package compiler_test

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"ptc/compiler"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/passes"
	"ptc/passes/pass"
)

// tiny is a GPT under a layout.
func tiny(t *testing.T, layout string) compiler.Options {
	t.Helper()
	text, err := os.ReadFile("../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, `
layout two { mesh tp = 2  shard heads, ffn, vocab over tp  shard seq over tp between Block }
layout pipe { mesh pp = 2, dp = 2  pipeline blocks over pp { schedule = 1f1b  microbatches = 2 }  shard batch over dp  zero 3 over dp }
layout kept { recompute Block }
layout none { mesh tp = 2  shard heads, ffn, vocab over tp  overlap none }
`...)
	return compiler.Options{File: "gpt.ptl", Source: text, Layout: layout, Target: "ref",
		Set: []string{"layers=2", "batch=4", "seq=4", "embed=8", "heads=2", "head=4", "ffn=8", "vocab=16"}}
}

func bisected(t *testing.T, layout string) *compiler.Culprit {
	t.Helper()
	c, _, err := compiler.Bisect(tiny(t, layout))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// mutate has a pass of the table apply a rule of ours as well, to each operation of the name.
func mutate(t *testing.T, name, of string, rule func(n int, f *ir.Func, o *ir.Op)) {
	t.Helper()
	row := &passes.Table[passes.Index(name)-1]
	run := row.Run
	t.Cleanup(func() { row.Run = run })
	row.Run = func(c *pass.Context, m *ir.Module) error {
		if err := run(c, m); err != nil {
			return err
		}
		n := 0
		for _, f := range m.Funcs {
			for _, o := range slices.Clone(f.Ops) {
				if o.Name == of && c.May("mutant", o) {
					rule(n, f, o)
					n++
				}
			}
		}
		return nil
	}
}

// TestBisect: of many applications of a rule, the one that is wrong is found, whether it changes the
// result or leaves an invalid module.
func TestBisect(t *testing.T) {
	if c := bisected(t, "two"); c != nil {
		t.Fatalf("nothing is wrong, and found is %s", c)
	}
	third := func(change func(f *ir.Func, o *ir.Op)) func(int, *ir.Func, *ir.Op) {
		return func(n int, f *ir.Func, o *ir.Op) {
			if n == 2 {
				change(f, o)
			}
		}
	}
	for _, x := range []struct {
		name, pass string
		change     func(f *ir.Func, o *ir.Op)
		wrong      string
		diff       bool
	}{
		{"another result", "cleanup", func(_ *ir.Func, o *ir.Op) { o.Name = op.Sub }, "changed the result", true},
		{"an invalid module", "remat", func(f *ir.Func, o *ir.Op) { o.Attrs = o.Attrs.With("nonsense", ir.Int(1)) }, "invalid module", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			var at string
			mutate(t, x.pass, op.Add, third(func(f *ir.Func, o *ir.Op) {
				at = strings.TrimSpace(o.Scope + " " + o.Pos.String())
				x.change(f, o)
			}))
			c := bisected(t, "two")
			if c == nil || c.Pass != x.pass || c.Rule != "mutant `add`" || strings.TrimSpace(c.Scope+" "+c.Pos) != at || !strings.Contains(c.Wrong, x.wrong) {
				t.Fatalf("the mutant of %s at %s is not found: %v", x.pass, at, c)
			}
			if diff := c.Diff(10); (diff != "") != x.diff || x.diff && (!strings.Contains(diff, "- ") || !strings.Contains(diff, " = sub ")) {
				t.Errorf("the rewrite changes these lines:\n%s", diff)
			}
		})
	}
}

// TestBisectWithout: a pass that is wrong whatever it rewrites is named as such.
func TestBisectWithout(t *testing.T) {
	row := &passes.Table[passes.Index("autodiff")-1]
	run := row.Run
	t.Cleanup(func() { row.Run = run })
	row.Run = func(c *pass.Context, m *ir.Module) error {
		err := run(c, m)
		m.Func("step").Results[0].Value = m.Func("step").Ops[0].Result()
		return err
	}
	if c := bisected(t, "single"); c == nil || c.Number != 0 || c.Pass != "autodiff" {
		t.Errorf("found is %v", c)
	}
}

// TestRewritesAreFree: whichever rewrites are the last that are allowed, no pass changes the result, and those before
// are the same.
func TestRewritesAreFree(t *testing.T) {
	for _, layout := range []string{"two", "pipe"} {
		o := tiny(t, layout)
		o.VerifyEach = true
		made := func(most int) (int, pass.Remark) {
			o.Rewrites = &pass.Rewrites{Most: most}
			found, _, err := compiler.Check(o)
			if err != nil {
				t.Fatalf("%s: of %d rewrites: %v", layout, most, err)
			}
			if bad := found.First(); bad != nil {
				t.Fatalf("%s: of %d rewrites: %s", layout, most, bad)
			}
			return o.Rewrites.Made, o.Rewrites.Last
		}
		all, _ := made(math.MaxInt)
		step := all / 3
		if *slow {
			step = max(1, all/60)
		}
		for most := step / 2; most < all; most += step {
			if n, last := made(most); n != most {
				t.Errorf("%s: of %d rewrites %d are made, and the last is %s", layout, most, n, last)
			}
		}
	}
}
