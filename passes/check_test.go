package passes

import (
	"os"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/passes/check"
	"ptc/passes/pass"
)

// A block with everything a model has (lookup, normalization, residual stream,
// tied head, cross entropy, momentum) goes through every pass, and is executed
// after each.
func TestEveryPassKeepsTheResult(t *testing.T) {
	text, err := os.ReadFile("testdata/block.ptir")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		rule  string
		exact bool
	}{
		"f32":   {"", false},
		"bf16":  {"meta precision(compute=bf16)\n", false},
		"exact": {"", true},
	} {
		t.Run(name, func(t *testing.T) {
			m := parse(t, strings.Replace(string(text), "\nfunc @step", c.rule+"\nfunc @step", 1))
			k := check.New(1)
			ctx := &pass.Context{}
			ctx.Target.Exact = c.exact
			if err := Run(ctx, m, &Options{VerifyEach: true, Hooks: []Hook{k.Hook}}); err != nil {
				t.Fatal(err)
			}
			if bad := k.Report.First(); bad != nil {
				t.Errorf("%+v", *bad)
			}
			for _, r := range k.Report.Rows {
				t.Logf("%02d %-11s %-8s %3d results, %.2g at %s", r.Index, r.Pass, r.Kind, r.Compared, r.Diff, r.Worst)
			}
			for _, p := range Table {
				if !ran(k.Report, p.Name) {
					t.Errorf("%s was not checked", p.Name)
				}
			}
			if m.Level != ir.Planned {
				t.Errorf("ends at %s", m.Level)
			}
		})
	}
}

func ran(r check.Report, name string) bool {
	for _, row := range r.Rows {
		if row.Pass == name && row.Compared > 0 {
			return true
		}
	}
	return false
}

// The same module gives the same text after every pass, run after run.
func TestDeterministic(t *testing.T) {
	text, err := os.ReadFile("testdata/block.ptir")
	if err != nil {
		t.Fatal(err)
	}
	run := func() string {
		m := parse(t, string(text))
		c := &pass.Context{}
		if err := Run(c, m, nil); err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		b.WriteString(ir.Print(m))
		for _, r := range c.Remarks {
			b.WriteString(r.String() + "\n")
		}
		return b.String()
	}
	first := run()
	for range 5 {
		if again := run(); again != first {
			t.Fatalf("one run gives\n%s\nanother\n%s", first, again)
		}
	}
}
