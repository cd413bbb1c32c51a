package passes

import (
	"slices"
	"strings"
	"testing"
	"time"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/verify"
	"ptc/passes/pass"
)

func TestConstraintsAreChecked(t *testing.T) {
	for _, c := range Constraints {
		i, j := Index(c.Before)-1, Index(c.After)-1
		table := slices.Clone(Table)
		// Exchanged rows keep the levels of their places, so that only the
		// order is wrong.
		table[i], table[j] = table[j], table[i]
		for _, k := range []int{i, j} {
			table[k].In, table[k].Out = Table[k].In, Table[k].Out
			table[k].Required, table[k].Enabled = Table[k].Required, nil
		}
		if err := checkTable(table, Constraints); err == nil {
			t.Errorf("%s after %s is accepted", c.Before, c.After)
		}
	}
	for what, change := range map[string]func(table []Pass){
		"a name twice":             func(t []Pass) { t[Index("cleanup")-1].Name = "simplify" },
		"a level that jumps":       func(t []Pass) { t[Index("propagate")-1].Out = ir.Local },
		"an optional level change": func(t []Pass) { t[Index("propagate")-1].Required = false },
		"a required one disabled":  func(t []Pass) { t[Index("autodiff")-1].Enabled = optional },
		"a constraint on nothing":  func(t []Pass) { t[Index("order")-1].Name = "sort" },
	} {
		table := slices.Clone(Table)
		change(table)
		if err := checkTable(table, Constraints); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
}

// Every neighbouring pair that is required has a reason to stand as it does:
// the constraints leave no pass unordered.
func TestEveryPassIsConstrained(t *testing.T) {
	for _, p := range Table {
		if !slices.ContainsFunc(Constraints, func(c Constraint) bool { return c.Before == p.Name || c.After == p.Name }) {
			t.Errorf("no constraint names %s", p.Name)
		}
		if p.Doc == "" || p.Run == nil {
			t.Errorf("the row of %s is incomplete", p.Name)
		}
	}
}

const linear = `ptir 1 global "linear"

func @step class=entry
  arg %0 : f32[in=4, out=3] param "w" init=normal(std=0.5)
  arg %1 : f32[batch=2, in=4] data "x"
  %2 : f32[batch=2, out=3] = dot %1, %0 over=(in) // model lin.ptl:3:5
  %3 : f32[batch=2, out=3] = mul %2, %2 // model lin.ptl:4:5
  %4 : f32[] = reduce_sum %3 over=(batch, out) // model lin.ptl:4:5
  %5 : f32[in=4, out=3] = grad %4, %0 // lin.ptl:9:1
  %6 : f32[] = const dtype=f32 value=0.125
  %7 : f32[in=4, out=3] = mul %5, %6
  %8 : f32[in=4, out=3] = sub %0, %7
  result %4 loss
  result %5 grad "w"
  result %8 param "w"
end
`

func parse(t *testing.T, text string) *ir.Module {
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

func TestRunReachesThePlan(t *testing.T) {
	m := parse(t, linear)
	var seen []string
	var index []int
	var times Timings
	hook := func(i int, name string, m *ir.Module, _ time.Duration) error {
		index, seen = append(index, i), append(seen, name)
		text := ir.Print(m)
		again, errs := ir.Parse(name, []byte(text))
		if len(errs) > 0 || ir.Print(again) != text {
			t.Errorf("after %s: text does not read back: %v", name, errs)
		}
		return nil
	}
	c := &pass.Context{}
	if err := Run(c, m, &Options{VerifyEach: true, Hooks: []Hook{hook, times.Hook}}); err != nil {
		t.Fatal(err)
	}
	if m.Level != ir.Planned {
		t.Errorf("the module ends at level %s", m.Level)
	}
	if want := append([]string{Source}, Names()...); !slices.Equal(seen, want) {
		t.Errorf("hooks saw %v, want %v", seen, want)
	}
	if !slices.IsSorted(index) || index[0] != 0 || index[len(index)-1] != len(Table) {
		t.Errorf("hooks saw places %v", index)
	}
	if s := times.String(); strings.Count(s, "\n") != len(Table)+3 {
		t.Errorf("timings:\n%s", s)
	}
	for _, r := range c.Remarks {
		if Index(r.Pass) < 0 {
			t.Errorf("remark of no pass: %s", r)
		}
	}
}

func TestSubsets(t *testing.T) {
	m := parse(t, linear)
	if err := Run(&pass.Context{}, m, &Options{Stop: "autodiff"}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(ir.Print(m), " grad %") || m.Level != ir.Global {
		t.Errorf("not what autodiff leaves:\n%s", ir.Print(m))
	}
	// The text of a dump continues where it stopped, to the same end.
	whole := parse(t, linear)
	if err := Run(&pass.Context{}, whole, nil); err != nil {
		t.Fatal(err)
	}
	rest := parse(t, ir.Print(m))
	if err := Run(&pass.Context{}, rest, &Options{Only: Names()[2:]}); err != nil {
		t.Fatal(err)
	}
	if a, b := ir.Print(whole), ir.Print(rest); a != b {
		t.Errorf("one run gives\n%s\nin two parts\n%s", a, b)
	}
}

func TestNoOptimize(t *testing.T) {
	m := parse(t, linear)
	c := &pass.Context{}
	if err := Run(c, m, &Options{NoOptimize: true, VerifyEach: true}); err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Remarks {
		if r.Pass == "simplify" || r.Pass == "cleanup" {
			t.Errorf("%s ran", r.Pass)
		}
	}
	if m.Level != ir.Planned {
		t.Errorf("ends at %s", m.Level)
	}
}

func TestUserErrors(t *testing.T) {
	for _, c := range []struct {
		o    Options
		code string
		part string
	}{
		{Options{Only: []string{"simplfy"}}, "E0602", "did you mean `simplify`?"},
		{Options{Stop: "fuze"}, "E0602", "did you mean `fuse`?"},
		{Options{Only: []string{"simplify"}, Stop: "fuse"}, "E0602", "not among those"},
		{Options{Only: []string{"fuse"}}, "E0603", "run propagate, partition first"},
		{Options{Only: []string{"partition"}}, "E0603", "run propagate first"},
		{Options{Only: []string{"propagate", "simplify"}}, "E0603", "dump of an earlier pass"},
	} {
		err := Run(&pass.Context{}, parse(t, linear), &c.o)
		l, ok := diag.As(err)
		if !ok || l[0].Code != c.code || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%+v: %v; want %s and %q", c.o, err, c.code, c.part)
		}
	}
}

func TestBrokenPassIsNamed(t *testing.T) {
	broken := &Pass{Name: "fuse", In: ir.Global, Out: ir.Global,
		Run: func(_ *pass.Context, m *ir.Module) error { m.Funcs[0].Ops = m.Funcs[0].Ops[1:]; return nil }}
	err := step(&pass.Context{}, parse(t, linear), broken, &Options{VerifyEach: true})
	if b, ok := err.(*Broken); !ok || b.Pass != "fuse" {
		t.Errorf("%v", err)
	}
}
