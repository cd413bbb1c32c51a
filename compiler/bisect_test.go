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
layout ring { mesh cp = 2  shard seq over cp }
layout zigzag { mesh cp = 2  shard seq over cp { order = zigzag } }
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

// TestBisectChoices: what a pass chooses has a number each. Where one choice of it goes wrong, that one is found.
func TestBisectChoices(t *testing.T) {
	for _, x := range []struct {
		layout, pass, rule string
		fault              func(m *ir.Module) bool // spoils what the choice made, if it did
	}{
		{"two", "remat", "rematerialize an attention `exp`", func(m *ir.Module) bool {
			f := m.Func("step")
			i := slices.IndexFunc(f.Ops, func(o *ir.Op) bool { return o.Remat && o.Name == op.Sub })
			if i >= 0 {
				f.Ops[i].Name = op.Add
			}
			return i >= 0
		}},
		{"kept", "remat", "rematerialize `erf`", func(m *ir.Module) bool {
			f := m.Func("step")
			i := slices.IndexFunc(f.Ops, func(o *ir.Op) bool { return o.Remat && o.Name == "erf" })
			if i >= 0 {
				f.Ops[i].Name = op.Neg
			}
			return i >= 0
		}},
		{"ring", "context", "a ring `dot`", func(m *ir.Module) bool {
			f := m.Func("step")
			i := slices.IndexFunc(f.Ops, func(o *ir.Op) bool { return o.Name == op.Take })
			if i >= 0 {
				f.Ops[i].Attrs = f.Ops[i].Attrs.With("sources", ir.Ints{1, 1})
			}
			return i >= 0
		}},
		{"kept", "memory", "result 0 over operand 0 of `call`", func(m *ir.Module) bool {
			for _, o := range m.Func("step").Ops {
				for n, a := range o.Args {
					if d := a.Def; n == 0 && o.Callee != nil && d != nil && d.Callee != nil && o.At[0] == d.At[slices.Index(d.Results, a)] {
						o.At[0] += 64
						return true
					}
				}
			}
			return false
		}},
	} {
		t.Run(x.pass, func(t *testing.T) {
			row := &passes.Table[passes.Index(x.pass)-1]
			run := row.Run
			t.Cleanup(func() { row.Run = run })
			done := 0
			row.Run = func(c *pass.Context, m *ir.Module) error {
				err := run(c, m)
				if err == nil && x.fault(m) {
					done++
				}
				return err
			}
			c := bisected(t, x.layout)
			if c == nil || done == 0 || c.Number == 0 || c.Pass != x.pass || !strings.Contains(c.Rule, x.rule) {
				t.Errorf("with a fault in %s, made %d times: %v", x.pass, done, c)
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
	for _, layout := range []string{"two", "pipe", "kept", "zigzag"} {
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
