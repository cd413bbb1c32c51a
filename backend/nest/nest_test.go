package nest

import (
	"math/rand"
	"os"
	"strings"
	"testing"

	cpuchoose "ptc/backend/cpu/choose"
	gpuchoose "ptc/backend/gpu/choose"
	"ptc/backend/tile"
	"ptc/backend/tile/schedule"
	"ptc/backend/tile/tiletest"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/fusion"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
	"ptc/passes/fuse"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// check interprets the programs of f for several schedules, in float64 and in the
// declared dtypes, and compares each result with the evaluator's.
func check(t *testing.T, f *ir.Func, schedules []schedule.Schedule, seed int64) {
	t.Helper()
	k, err := fusion.Analyze(f)
	if err != nil {
		t.Fatal(err)
	}
	args := irtest.Arguments(f, seed)
	for _, exact := range []bool{true, false} {
		want, err := eval.Func(&ir.Module{Funcs: []*ir.Func{f}}, f, args, eval.Options{Exact: exact})
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range schedules {
			p, err := Program("k", k, s)
			if err != nil {
				t.Fatalf("%v\n%s", err, ir.PrintFunc(f))
			}
			reparse(t, p)
			opt := tiletest.Options{Exact: exact, Seed: seed}
			compare(t, p, f, args, want, opt, -1, -1)
			for a := range f.Args {
				for r := range f.Results {
					if k.InPlace(a, r) {
						compare(t, p, f, args, want, opt, a, r)
					}
				}
			}
			if t.Failed() {
				t.FailNow()
			}
		}
	}
}

// reparse holds the text of a generated program to be canonical.
func reparse(t *testing.T, p *tile.Program) {
	t.Helper()
	q, err := tile.Parse(p.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, p)
	}
	if err := tile.Verify(q); err != nil || q.String() != p.String() {
		t.Fatalf("%v: parsed and printed, it is\n%s\nof\n%s", err, q, p)
	}
}

// compare interprets p, where over is not negative with that result in the place of an
// argument.
func compare(t *testing.T, p *tile.Program, f *ir.Func, args, want []*tensor.Tensor, opt tiletest.Options, arg, over int) {
	t.Helper()
	var mem []*tiletest.Memory
	for _, a := range args {
		mem = append(mem, tiletest.Holding(a))
	}
	for i, r := range f.Results {
		if i == over {
			mem = append(mem, mem[arg])
			continue
		}
		mem = append(mem, tiletest.Blank(int64(r.Value.Type.Elems())))
	}
	if err := opt.Run(p, mem); err != nil {
		t.Errorf("%v\n%s\n%s", err, ir.PrintFunc(f), p)
		return
	}
	for i, w := range want {
		got := &tensor.Tensor{Type: w.Type, Data: mem[len(args)+i].Data}
		if at, diff := irtest.Worst(got, w); !(diff < tolerance(w.Type.DType, opt.Exact)) {
			t.Errorf("exact %v, result %d over argument %d: element %d is %v, want %v\n%s\n%s", opt.Exact, i, arg, at, got.Data[at], w.Data[at], ir.PrintFunc(f), p)
		}
	}
}

func tolerance(d ir.DType, exact bool) float64 {
	switch {
	case exact:
		return 1e-9
	case d == ir.BF16:
		return 2e-2
	case d == ir.F16:
		return 2e-3
	}
	return 1e-4
}

// schedules are the one for vectors, whole axes, and some at random: of large kernels,
// which take long to interpret position by position, without the smallest blocks.
func schedules(k *fusion.Kernel, r *rand.Rand, n int) []schedule.Schedule {
	out := []schedule.Schedule{cpuchoose.Schedule(k, 8), gpuchoose.Schedule(k, gpuchoose.GPU{}), {}}
	work := fusion.Iterations(fusion.Each(k.Space))
	if k.Class == fusion.Gemm {
		work *= fusion.Iterations(fusion.Each(k.Reduce))
	}
	pick := func(of ...int64) int64 {
		if x := of[r.Intn(len(of))]; x < 1 || x > 3 || work < 1000 {
			return x
		}
		return 7
	}
	for range n {
		out = append(out, schedule.Schedule{
			Rows: pick(0, 1, 1, 2, 3, 5), Cols: pick(0, 1, 2, 4, 16), Over: pick(0, 1, 2, 3, 8), Grid: r.Int63n(4) - 1,
			Left: schedule.Pack(r.Intn(3)), Right: schedule.Pack(r.Intn(3)), Stages: r.Int63n(4), Split: r.Int63n(4),
			Dot: schedule.Dot{M: 6 * r.Int63n(2), N: 16 * r.Int63n(2)},
		})
		if k.Class == fusion.Scatter {
			out[len(out)-1].Task = pick(0, 1, 2, 5)
		}
	}
	return out
}

// Kernels of each class: orders of axes, sizes of one, tails, dtypes.
func TestCases(t *testing.T) {
	text, err := os.ReadFile("testdata/kernels.ptir")
	if err != nil {
		t.Fatal(err)
	}
	m, errs := ir.Parse("kernels.ptir", text)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, f := range m.Funcs {
		t.Run(f.Name, func(t *testing.T) {
			whole, err := fusion.Analyze(f)
			if err != nil {
				t.Fatal(err)
			}
			if want := fusion.Class(f.Attrs.Text("kind")); whole.Class != want {
				t.Errorf("class %s, want %s", whole.Class, want)
			}
			for _, k := range whole.Apart() {
				check(t, k.F, schedules(k, rand.New(rand.NewSource(1)), 5), 1)
			}
		})
	}
}

// Views have the padding of rows, which lets whole vectors be read: of an axis that is a loop of its own, and
// of one that none can be merged with.
func TestPaddingOfRows(t *testing.T) {
	m, errs := ir.Parse("padded.ptir", []byte(`ptir 1 fused ""

func @padded class=kernel kind=map
  arg %0 : f32[a=8, b=18+2] in
  arg %1 : f32[b=18] in
  %2 : f32[a=8, b=18+2] = add %0, %1
  result %2 out
end
`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	k, err := fusion.Analyze(m.Funcs[0])
	if err != nil {
		t.Fatal(err)
	}
	p, err := Program("padded", k, schedules(k, rand.New(rand.NewSource(1)), 1)[0])
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Count(p.String(), "b=18+2:1"); got != 2 {
		t.Errorf("%d views have padding, not that of the argument and that of the result:\n%s", got, p.String())
	}
}

// Kernels of fused random modules: of all operations, and of reductions and elementwise
// work between them.
func TestRandom(t *testing.T) {
	count := map[fusion.Class]int{}
	for name, random := range map[string]func(*rand.Rand, int) *ir.Module{"all": passtest.RandomModule, "reductions": passtest.RandomReductions} {
		for seed := range int64(10) {
			r := rand.New(rand.NewSource(seed))
			m := random(r, 40)
			m.Level = ir.Local
			if err := fuse.Run(&pass.Context{}, m); err != nil {
				t.Fatal(err)
			}
			for _, f := range m.Funcs {
				if f.Class != ir.Kernel {
					continue
				}
				whole, err := fusion.Analyze(f)
				if err != nil {
					t.Fatal(err)
				}
				for _, k := range whole.Apart() {
					count[k.Class]++
					check(t, k.F, schedules(k, r, 2), seed)
					if t.Failed() {
						t.Fatalf("%s, seed %d", name, seed)
					}
				}
			}
		}
	}
	for _, class := range []fusion.Class{fusion.Map, fusion.Row, fusion.Column, fusion.Gemm} {
		if count[class] < 5 {
			t.Errorf("%d kernels of class %s", count[class], class)
		}
	}
}
