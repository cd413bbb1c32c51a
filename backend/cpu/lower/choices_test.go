package lower

import (
	"math/rand"
	"strings"
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/fusion"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
)

const scaledProduct = `func @k class=kernel
  arg %0 : f32[b=2, s=37, d=45] in
  arg %1 : f32[d=45, e=50] in
  %2 : f32[b=2, s=37, e=50] = dot %0, %1 over=(d)
  %3 : f32[b=2, s=37, e=50] = tanh %2
  result %3 out
end
`

// TestChoices interprets kernels as each listed schedule cuts them, and compares with the
// evaluator. The first schedule is what is taken where none is given.
func TestChoices(t *testing.T) {
	smallCaches(t)
	r := rand.New(rand.NewSource(21))
	texts := []string{scaledProduct}
	for range 3 {
		a, b := irtest.RandomAttention(r), irtest.RandomAttention(r)
		a.Document = a.Document && !a.Dropout // of a row that sees no key, what is dropped would be the one number
		texts = append(texts, a.Forward(), b.Backward())
	}
	ways := 0
	for i, text := range texts {
		f := parse(t, text)
		args := irtest.Arguments(f, int64(i))
		want, err := eval.Func(&ir.Module{Funcs: []*ir.Func{f}}, f, args, eval.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range machines {
			ways += checkChoices(t, f, args, want, m)
		}
	}
	if least := 3 * len(texts) * len(machines); ways < least {
		t.Errorf("found %d ways to cut %d kernels for %d machines; expected at least %d", ways, len(texts), len(machines), least)
	}
}

func checkChoices(t *testing.T, f *ir.Func, args, want []*tensor.Tensor, m kernel.Machine) (ways int) {
	t.Helper()
	k, err := fusion.Analyze(f)
	if err != nil {
		t.Fatal(err)
	}
	list, err := Choices(k, m)
	if err != nil {
		t.Fatalf("%d bits: %v\n%s", m.VectorBits, err, ir.PrintFunc(f))
	}
	own, err := Kernel("k", f, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range list {
		table := schedule.NewTable("")
		table.Set(fusion.Key(f), s, "")
		k, err := Kernel("k", f, m, table)
		if err != nil {
			t.Fatalf("%d bits, %s: %v", m.VectorBits, s, err)
		}
		if i == 0 && k.String() != own.String() {
			t.Errorf("%d bits: its own schedule, %s, gives another kernel\n%s", m.VectorBits, s, ir.PrintFunc(f))
		}
		bufs, outs := buffers(f, args)
		if err := kerneltest.Interpret(k, bufs, 0, k.Tasks); err != nil {
			t.Fatalf("%d bits, %s: %v", m.VectorBits, s, err)
		}
		for i, w := range want {
			got := tensor.New(f.Results[i].Value.Type)
			got.Get(outs[i])
			if at, diff := irtest.Worst(got, w); !(diff < tolerance(w.Type.DType)) {
				t.Errorf("%d bits, %s: result %d differs at %d: %v, want %v\n%s", m.VectorBits, s, i, at, got.Data[at], w.Data[at], ir.PrintFunc(f))
			}
		}
	}
	return len(list)
}

// TestGivenSchedules gives a schedule to a section of a horizontal kernel, and ones that
// kernels cannot have.
func TestGivenSchedules(t *testing.T) {
	both := parse(t, `func @k class=kernel kind=horizontal
  arg %0 : f32[s=37, d=45] in
  arg %1 : f32[d=45, e=50] in
  arg %2 : f32[d=45, h=20] in
  %3 : f32[s=37, e=50] = dot %0, %1 over=(d)
  %4 : f32[s=37, h=20] = dot %0, %2 over=(d)
  result %3 out
  result %4 out
end
`)
	m := machines[0]
	whole, err := fusion.Analyze(both)
	if err != nil {
		t.Fatal(err)
	}
	key := fusion.Key(whole.Apart()[1].F)
	of := func(s schedule.Schedule) (string, error) {
		table := schedule.NewTable("")
		table.Set(key, s, "")
		k, err := Kernel("k", both, m, table)
		if err != nil {
			return "", err
		}
		return k.String(), nil
	}
	own, err := Kernel("k", both, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	tile := schedule.Dot{M: 3, N: 16, K: 1}
	if got, err := of(schedule.Schedule{Rows: 6, Cols: 16, Over: 16, Grid: -1, Dot: tile}); err != nil || got == own.String() {
		t.Errorf("%v; expected another kernel", err)
	}
	for want, s := range map[string]schedule.Schedule{
		"section 1: the schedule \"dot=fma(15x48x1)\" of kernel k (" + key + ")": {Dot: schedule.Dot{M: 15, N: 48, K: 1}},
		"found 2 phases; expected one":                                           {Left: schedule.PerPhase},
	} {
		if _, err := of(s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: found error %v; expected %q", s, err, want)
		}
	}
	a := parse(t, irtest.Attention{Batch: 1, Heads: 1, Group: 1, Rows: 20, Keys: 20, Cols: 8, Values: 8}.Forward())
	key, both = fusion.Key(a), a
	if _, err := of(schedule.Schedule{Rows: 1, Over: 1 << 41, Task: 1}); err == nil || !strings.Contains(err.Error(), "attention: found blocks of 1 rows") {
		t.Errorf("found error %v; expected one of sizes", err)
	}
}
