// Package passtest is the harness of pass tests: golden archives that are
// also executed, random modules, and planned ones run on an arena.
//
// In: testdata/*.txtar with a section before.ptir. Out: the sections
// after.ptir and remarks.txt compared, both modules verified, executed by
// passes/check and their results compared: from Local on by as many simulated
// devices as the mesh has, each with its own program where a pipeline gives it
// one, and what they have put together.
// For tests only. Imports internal/golden, ir, ir/eval, ir/verify, passes/check,
// passes/pass, passes/validate.
package passtest

import (
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/internal/golden"
	"ptc/ir"
	"ptc/ir/verify"
	"ptc/passes/check"
	"ptc/passes/pass"
	"ptc/passes/validate"
)

// lines are remarks, one a line.
func lines(remarks []pass.Remark) string {
	var b strings.Builder
	for _, r := range remarks {
		b.WriteString(r.String() + "\n")
	}
	return b.String()
}

// Golden runs a pass over each archive. see, which may be nil, gets a copy of
// each module as it was. An archive with a section error.txt expects a user's
// error instead; one with the line "why: asked" has what the pass did not do in reasons.txt.
func Golden(t *testing.T, pattern string, run pass.Func, see func(m *ir.Module)) {
	t.Helper()
	golden.Run(t, pattern, func(t *testing.T, c *golden.Case) {
		m := Parse(t, c.Input("before.ptir"))
		if see != nil {
			see(m.Clone())
		}
		ctx := &pass.Context{Pass: "pass"}
		ctx.Target.Exact = c.Option("target") == "exact"
		ctx.Target.Attention = c.Option("target") == "attention"
		if c.Option("why") == "asked" {
			ctx.Why = ctx.Pass
		}
		before := m.Clone()
		if err := run(ctx, m); err != nil {
			if _, ok := diag.As(err); !ok {
				t.Fatal(err)
			}
			c.Output("error.txt", err.Error())
			return
		}
		c.Output("after.ptir", ir.Print(m))
		c.Output("remarks.txt", lines(ctx.Remarks))
		if ctx.Asked() {
			c.Output("reasons.txt", lines(ctx.Reasons))
		}
		if errs := verify.Module(m); len(errs) > 0 {
			t.Errorf("not valid any more: %v", errs)
			return
		}
		Same(t, before, m)
	})
}

// Parse reads and verifies a module.
func Parse(t *testing.T, text string) *ir.Module {
	t.Helper()
	m, errs := ir.Parse("test.ptir", []byte(text))
	if len(errs) == 0 {
		errs = verify.Module(m)
	}
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return m
}

// Numbered fails the test where what a pass has made of a module is not valid, or
// computes something else by the numbers of its values (passes/validate).
func Numbered(t *testing.T, before, after *ir.Module) {
	t.Helper()
	if errs := verify.Module(after); len(errs) > 0 {
		t.Fatalf("not valid any more: %v\n%s\n%s", errs, ir.Print(before), ir.Print(after))
	}
	table := validate.New()
	a, err := table.Module(before)
	if err != nil {
		t.Fatal(err)
	}
	b, err := table.Module(after)
	if err != nil {
		t.Fatal(err)
	}
	if err := table.Same(a, b); err != nil {
		t.Fatalf("%v\n%s\n%s", err, ir.Print(before), ir.Print(after))
	}
}

// Same executes both modules on random inputs; a difference fails the test.
func Same(t *testing.T, before, after *ir.Module) {
	t.Helper()
	k := check.New(1)
	for i, m := range []*ir.Module{before, after} {
		if err := k.Hook(i, "pass", m, 0); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range k.Report.Rows {
		if !r.OK {
			t.Errorf("results differ (%s): %s by %.3g, tolerance %.3g", r.Kind, r.Worst, r.Diff, r.Tol)
		}
	}
}
