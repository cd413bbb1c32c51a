package nest

import (
	"math"
	"math/rand"
	"os"
	"strings"
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

// kernel reads the text of a kernel function.
func kernel(t *testing.T, text string) *ir.Func {
	t.Helper()
	m, errs := ir.Parse("k.ptir", []byte("ptir 1 fused \"\"\n\n"+text))
	if len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, text)
	}
	return m.Funcs[0]
}

// Attentions at random, in both phases.
func TestFoldRandom(t *testing.T) {
	n := 16
	if testing.Short() {
		n = 6
	}
	r := rand.New(rand.NewSource(11))
	for i := range n {
		a := irtest.RandomAttention(r)
		a.Slopes = i%5 == 0
		if a.Dropout { // of a row that sees no key, what is dropped would be the one number
			a.Document = false
			a.Keys = max(a.Keys, a.Rows)
		}
		for _, text := range []string{a.Forward(), a.Backward()} {
			f := kernel(t, text)
			checkFold(t, f, irtest.Arguments(f, int64(i)), blocks(r, 2)[1:])
		}
	}
}

// Steps of a ring: the first has nothing of earlier blocks, a later one hides keys from some rows
// or all, and scores are far below zero.
func TestFoldRing(t *testing.T) {
	f := kernel(t, irtest.Ring)
	for _, c := range irtest.RingSteps {
		checkFold(t, f, c.Arguments(f), blocks(rand.New(rand.NewSource(4)), 6))
	}
}

// A row of which no key is seen has no result, wherever the keys are hidden.
func TestFoldHidden(t *testing.T) {
	for _, a := range []irtest.Attention{
		{Batch: 2, Heads: 1, Group: 1, Rows: 23, Keys: 40, Cols: 8, Values: 8, Document: true, Causal: true, Stats: true},
		{Batch: 1, Heads: 1, Group: 2, Rows: 9, Keys: 9, Cols: 8, Values: 5, Document: true, Stats: true},
	} {
		f := kernel(t, a.Forward())
		args := irtest.Arguments(f, 1)
		for i, v := range f.Args {
			if v.Value.Type.DType == ir.I32 && v.Value.Type.Has("s") {
				args[i].Data[3], args[i].Data[5] = 99, 99
			}
		}
		checkFold(t, f, args, blocks(rand.New(rand.NewSource(5)), 6))
	}
}

// Masks of 32 rows and keys: causal, a window, and keys below a length.
const (
	seesCausal = `  %20 : bool[s=32, t=32] = ge %5, %6
`
	seesWindow = `  %17 : i32[s=32, t=32] = sub %5, %6
  %18 : bool[s=32, t=32] = ge %5, %6
  %19 : i32[] = const dtype=i32 value=4
  %21 : bool[s=32, t=32] = lt %17, %19
  %20 : bool[s=32, t=32] = and %18, %21
`
	seesLength = `  %20 : bool[t=32] = lt %6, %2
`
	seesFrom = `  %17 : bool[t=32] = lt %6, %2
  %20 : bool[t=32] = not %17
`
	seesOne = `  %20 : bool[t=32] = eq %6, %2
`
	seesMoved = `  %17 : i32[s=32] = add %5, %2
  %20 : bool[s=32, t=32] = ge %17, %6
`
)

// masked is an attention of few columns with a mask: its result, or the gradient of keys.
func masked(mask, last string) string {
	hide := `  %8 : f32[] = const dtype=f32 value=-inf
  %9 : f32[s=32, t=32] = select %20, %7, %8
`
	if strings.Contains(mask, "%33 ") {
		hide = `  %9 : f32[s=32, t=32] = mul %34, %33
`
	}
	return `func @k class=kernel
  arg %0 : f32[s=32, d=2] in
  arg %1 : f32[t=32, d=2] in
  arg %2 : i32[] in
  arg %3 : f32[s=32] in
  arg %4 : f32[s=32, d=2] in
  %7 : f32[s=32, t=32] = dot %0, %1 over=(d)
  %5 : i32[s=32] = index axis=s size=32
  %6 : i32[t=32] = index axis=t size=32
` + mask + hide + last + `
end
`
}

// added hides scores of m by adding −∞, scaled by what is on the left.
func added(m string) string {
	axes := "s=32, t=32"
	if m == seesLength {
		axes = "t=32"
	}
	return m + `  %30 : f32[] = const dtype=f32 value=-inf
  %31 : f32[] = const dtype=f32 value=0
  %32 : f32[` + axes + `] = select %20, %31, %30
  %33 : f32[s=32, t=32] = add %32, %7
  %34 : f32[] = const dtype=f32 value=0.5
`
}

const (
	maskedForward = `  %10 : f32[s=32] = reduce_max %9 over=(t)
  %11 : f32[s=32, t=32] = sub %9, %10
  %12 : f32[s=32, t=32] = exp %11
  %13 : f32[s=32] = reduce_sum %12 over=(t)
  %14 : f32[s=32, t=32] = div %12, %13
  %15 : f32[s=32, d=2] = dot %14, %1 over=(t)
  result %15 out`
	maskedBackward = `  %11 : f32[s=32, t=32] = sub %9, %3
  %12 : f32[s=32, t=32] = exp %11
  %15 : f32[t=32, d=2] = dot %12, %4 out=(t, d) over=(s)
  result %15 out`
)

// Blocks of keys that no row of a task sees are not read, and neither are blocks of rows that see
// no key of a task: of what is no number there nothing comes.
func TestFoldSkips(t *testing.T) {
	for _, c := range []struct {
		name, mask, last string
		bad              []int // arguments that are no numbers
		from, to         int   // in these positions
		first, end       int   // and the positions of the result that have nothing of it
	}{
		{"causal", seesCausal, maskedForward, []int{1}, 8, 32, 0, 8},
		{"window", seesWindow, maskedForward, []int{1}, 0, 8, 16, 32},
		{"length", seesLength, maskedForward, []int{1}, 16, 32, 0, 32},
		{"causal, keys", seesCausal, maskedBackward, []int{0, 4}, 0, 8, 8, 32},
		{"window, keys", seesWindow, maskedBackward, []int{0, 4}, 16, 32, 0, 8},
		{"length, keys", seesLength, maskedBackward, []int{0, 4}, 0, 32, 16, 32},
		{"causal, added", added(seesCausal), maskedForward, []int{1}, 8, 32, 0, 8},
		{"window, added", added(seesWindow), maskedForward, []int{1}, 0, 8, 16, 32},
		{"length, added", added(seesLength), maskedForward, []int{1}, 16, 32, 0, 32},
		{"causal, keys, added", added(seesCausal), maskedBackward, []int{0, 4}, 0, 8, 8, 32},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := kernel(t, masked(c.mask, c.last))
			k, err := fusion.Analyze(f)
			if err != nil {
				t.Fatal(err)
			}
			parts, err := Fold("k", k, schedule.Schedule{Rows: 8, Over: 8})
			if err != nil {
				t.Fatal(err)
			}
			args := irtest.Arguments(f, 1)
			args[2].Data[0] = 9
			for _, a := range c.bad {
				for i := 2 * c.from; i < 2*c.to; i++ {
					args[a].Data[i] = math.NaN()
				}
			}
			var mem []*tiletest.Memory
			for _, a := range args {
				mem = append(mem, tiletest.Holding(a))
			}
			mem = append(mem, tiletest.Blank(64))
			if err := (tiletest.Options{Seed: 1}).Run(parts[0].Program, mem); err != nil {
				t.Fatal(err)
			}
			bad := 0
			for i, x := range mem[len(args)].Data {
				if at := i / 2; !math.IsNaN(x) {
					continue
				} else if bad++; at >= c.first && at < c.end {
					t.Errorf("position %d has something of what it does not see\n%s", at, parts[0].Program)
				}
			}
			if c.end-c.first < 32 && bad == 0 {
				t.Error("nothing is no number: the case tests nothing")
			}
		})
	}
}

// Bounds that are numbers known at run time. At the ends of i32 they bound nothing, where a bound
// would overflow.
func TestFoldLengths(t *testing.T) {
	for _, mask := range []string{seesLength, seesFrom, seesOne, seesMoved} {
		for _, last := range []string{maskedForward, maskedBackward} {
			f := kernel(t, masked(mask, last))
			for _, n := range []float64{math.MaxInt32 - 31, 1 << 28, 1<<28 + 1, 31, 9, 1, 0, -5, -1 << 28, -1<<28 - 1, math.MinInt32} {
				args := irtest.Arguments(f, 1)
				args[2].Data[0] = n
				checkFold(t, f, args, append(blocks(rand.New(rand.NewSource(6)), 1), schedule.Schedule{Rows: 8, Over: 8}))
			}
		}
	}
}

// Where the base is given there is a sum to divide by all the same; and of two products one may be
// of weights that are divided, the other of those before.
func TestFoldStatistics(t *testing.T) {
	const given = `  %11 : f32[s=32, t=32] = sub %9, %3
  %12 : f32[s=32, t=32] = exp %11
  %13 : f32[s=32] = reduce_sum %12 over=(t)
  %14 : f32[s=32, t=32] = div %12, %13
  %15 : f32[s=32, d=2] = dot %14, %1 over=(t)
  result %13 out
  result %15 out`
	two := strings.Replace(maskedForward, "  result %15 out", `  %16 : f32[t=32, d=2] = neg %1
  %27 : f32[s=32, d=2] = dot %12, %16 over=(t)
  result %15 out
  result %27 out
  result %13 out`, 1)
	for _, last := range []string{given, two} {
		f := kernel(t, masked(seesCausal, last))
		checkFold(t, f, irtest.Arguments(f, 1), blocks(rand.New(rand.NewSource(7)), 6))
	}
	f := kernel(t, masked(seesMoved, two))
	args := irtest.Arguments(f, 1)
	args[2].Data[0] = -5 // the first rows see no key
	checkFold(t, f, args, blocks(rand.New(rand.NewSource(8)), 6))
}

// Weights of hidden keys that are not 0 are summed, wherever the keys are.
func TestFoldKeepsHidden(t *testing.T) {
	const last = `  %11 : f32[s=32, t=32] = sub %9, %3
  %12 : f32[s=32, t=32] = exp %11
  %13 : f32[] = const dtype=f32 value=1
  %14 : f32[s=32, t=32] = add %12, %13
  %15 : f32[s=32, d=2] = dot %14, %1 over=(t)
  %16 : f32[t=32, d=2] = dot %14, %4 out=(t, d) over=(s)
  result %15 out
  result %16 out`
	f := kernel(t, masked(seesCausal, last))
	checkFold(t, f, irtest.Arguments(f, 1), blocks(rand.New(rand.NewSource(9)), 6))
}

// Of several axes of rows the one that masks compare is cut into blocks, or the largest.
func TestFoldRows(t *testing.T) {
	for _, c := range []struct {
		a    irtest.Attention
		want string
	}{
		{irtest.Attention{Batch: 1, Heads: 1, Group: 9, Rows: 7, Keys: 7, Cols: 4, Values: 4, Causal: true}, "g in g=9 by 1, s in s=7 by 2 "},
		{irtest.Attention{Batch: 1, Heads: 2, Group: 9, Rows: 7, Keys: 7, Cols: 4, Values: 4}, "s in s=7 by 1, g in g=9 by 2,"},
		{irtest.Attention{Batch: 1, Heads: 2, Group: 3, Rows: 7, Keys: 7, Cols: 4, Values: 4}, "g in g=3 by 1, s in s=7 by 2,"},
	} {
		k, err := fusion.Analyze(kernel(t, c.a.Forward()))
		if err != nil {
			t.Fatal(err)
		}
		parts, err := Fold("k", k, schedule.Schedule{Rows: 2})
		if err != nil {
			t.Fatal(err)
		}
		if text := parts[0].Program.String(); !strings.Contains(text, c.want) {
			t.Errorf("no %q in\n%s", c.want, text)
		}
	}
}

// What is no attention, and what cannot be folded, is refused.
func TestFoldRefuses(t *testing.T) {
	plain := kernel(t, "func @k class=kernel\n  arg %0 : f32[a=3] in\n  %1 : f32[a=3] = exp %0\n  result %1 out\nend\n")
	for _, c := range []struct {
		f    *ir.Func
		s    schedule.Schedule
		want string
	}{
		{plain, schedule.Schedule{}, "found class map; expected attention"},
		{kernel(t, masked(seesCausal, maskedForward)), schedule.Schedule{Right: schedule.PerPhase}, "found operands that a phase before packs"},
	} {
		k, err := fusion.Analyze(c.f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Fold("k", k, c.s); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("found error %v; expected %q", err, c.want)
		}
	}
}
