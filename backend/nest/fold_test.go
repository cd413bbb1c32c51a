package nest

import (
	"math/rand"
	"os"
	"testing"

	"ptc/backend/tile/schedule"
	"ptc/backend/tile/tiletest"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/fusion"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
)

// checkFold interprets the parts of an attention for several schedules, in float64 and in the
// declared dtypes, and compares each result with the evaluator's.
func checkFold(t *testing.T, f *ir.Func, args []*tensor.Tensor, schedules []schedule.Schedule) {
	t.Helper()
	k, err := fusion.Analyze(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, exact := range []bool{true, false} {
		want, err := eval.Func(&ir.Module{Funcs: []*ir.Func{f}}, f, args, eval.Options{Exact: exact})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range schedules {
			parts, err := Fold("k", k, s)
			if err != nil {
				t.Fatalf("%v\n%s", err, ir.PrintFunc(f))
			}
			compareParts(t, parts, f, args, want, tiletest.Options{Exact: exact, Seed: s.Rows})
			if t.Failed() {
				t.FailNow()
			}
		}
	}
}

// compareParts interprets the parts of a kernel.
func compareParts(t *testing.T, parts []Part, f *ir.Func, args, want []*tensor.Tensor, opt tiletest.Options) {
	t.Helper()
	var mem []*tiletest.Memory
	for _, a := range args {
		mem = append(mem, tiletest.Holding(a))
	}
	for _, r := range f.Results {
		mem = append(mem, tiletest.Blank(int64(r.Value.Type.Elems())))
	}
	for _, p := range parts {
		reparse(t, p.Program)
		var mine []*tiletest.Memory
		for _, i := range p.Args {
			mine = append(mine, mem[i])
		}
		if err := opt.Run(p.Program, mine); err != nil {
			t.Errorf("%v\n%s\n%s", err, ir.PrintFunc(f), p.Program)
			return
		}
	}
	for i, w := range want {
		got := &tensor.Tensor{Type: w.Type, Data: mem[len(args)+i].Data}
		if at, diff := irtest.Worst(got, w); !(diff < tolerance(w.Type.DType, opt.Exact)) {
			t.Errorf("exact %v, result %d: element %d is %v, want %v\n%s", opt.Exact, i, at, got.Data[at], w.Data[at], ir.PrintFunc(f))
			for _, p := range parts {
				t.Error(p.Program)
			}
		}
	}
}

// blocks are whole axes, and blocks at random, which need not divide them.
func blocks(r *rand.Rand, n int) []schedule.Schedule {
	out := []schedule.Schedule{{}}
	for range n {
		pick := func() int64 { return []int64{1, 2, 3, 4, 7, 16, 64}[r.Intn(7)] }
		out = append(out, schedule.Schedule{Rows: pick(), Over: pick(),
			Left: schedule.Pack(r.Intn(2)), Right: schedule.Pack(r.Intn(2)), Stages: r.Int63n(3)})
	}
	return out
}

// Attentions among the kernels of each class.
func TestFoldCases(t *testing.T) {
	text, err := os.ReadFile("testdata/kernels.ptir")
	if err != nil {
		t.Fatal(err)
	}
	m, errs := ir.Parse("kernels.ptir", text)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	n := 0
	for _, f := range m.Funcs {
		if f.Attrs.Text("kind") != string(fusion.Attend) {
			continue
		}
		n++
		t.Run(f.Name, func(t *testing.T) {
			checkFold(t, f, irtest.Arguments(f, 1), blocks(rand.New(rand.NewSource(1)), 5))
		})
	}
	if n < 5 {
		t.Errorf("%d attentions", n)
	}
}
