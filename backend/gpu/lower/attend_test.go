package lower

import (
	"math/rand"
	"os"
	"strings"
	"testing"

	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/choose"
	"ptc/backend/gpu/emu"
	"ptc/backend/gpu/nvptx"
	"ptc/backend/gpu/ptx"
	"ptc/backend/nest"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/fusion"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
)

// checkFold runs an attention as schedules at random fold it.
func checkFold(t *testing.T, f *ir.Func, args []*tensor.Tensor, r *rand.Rand, n int) {
	t.Helper()
	for range n {
		pick := func() int64 { return []int64{0, 1, 2, 3, 4, 7, 16, 30, 64}[r.Intn(9)] }
		s := schedule.Schedule{Rows: pick(), Over: pick(), Left: schedule.Pack(r.Intn(2)), Right: schedule.Pack(r.Intn(2)), Stages: r.Int63n(3)}
		if r.Intn(2) == 0 {
			s.Dot = schedule.Dot{Kind: schedule.MMA, M: 16, N: 8, K: 16}
		}
		foldAs(t, f, args, r, s)
	}
}

// foldAs runs an attention as one kernel of the parts that s folds it into, and compares with the
// evaluator.
func foldAs(t *testing.T, f *ir.Func, args []*tensor.Tensor, r *rand.Rand, s schedule.Schedule) {
	t.Helper()
	want, err := eval.Func(&ir.Module{Funcs: []*ir.Func{f}}, f, args, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	k, err := fusion.Analyze(f)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := nest.Fold("k", k, s)
	if err != nil {
		t.Fatal(err)
	}
	var sections []Section
	for _, p := range parts {
		sections = append(sections, Section{Program: p.Program, Args: p.Args})
	}
	warps := 1 << r.Intn(4)
	if s.Warps > 0 {
		warps = int(s.Warps)
	}
	joined, err := Join(nvptx.Machine{}, "k", len(f.Args)+len(f.Results), sections, warps)
	if err != nil {
		t.Fatalf("%v\n%s", err, ir.PrintFunc(f))
	}
	if s.Dot.Kind == schedule.WGMMA {
		countGroups(t, joined, s)
	}
	d := &emu.Device{Options: emu.Options{Check: true, Steps: 1 << 24, Seed: r.Uint64(), Late: s.Warps > 0 && r.Intn(2) == 0}}
	var words []emu.Arg
	for _, a := range args {
		b := make([]byte, a.Type.Bytes())
		a.Put(b)
		words = append(words, emu.Word(d.Map(b)))
	}
	var outs [][]byte
	for _, res := range f.Results {
		b := make([]byte, res.Value.Type.Bytes())
		for i := range b {
			b[i] = 0xa5 // every element must be written
		}
		words, outs = append(words, emu.Word(d.Map(b))), append(outs, b)
	}
	e, err := emu.Load(joined.Entry)
	if err != nil {
		t.Fatal(err)
	}
	all, err := withMaps(words, joined.Maps)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(e, emu.Launch{Grid: int(joined.Blocks), Shared: joined.Shared, Args: all}); err != nil {
		t.Fatalf("%d warps, %s: %v\n%s\n%s", warps, s, err, ir.PrintFunc(f), parts[0].Program)
	}
	for i, w := range want {
		got := tensor.New(f.Results[i].Value.Type)
		got.Get(outs[i])
		if at, diff := irtest.Worst(got, w); !(diff < tolerance(w.Type.DType)) {
			t.Errorf("result %d, %d warps, %s: element %d is %v, want %v\n%s", i, warps, s, at, got.Data[at], w.Data[at], ir.PrintFunc(f))
			for _, p := range parts {
				t.Error(p.Program)
			}
			t.FailNow()
		}
	}
}

// attention reads the text of a kernel function.
func attention(t *testing.T, text string) *ir.Func {
	t.Helper()
	m, errs := ir.Parse("k.ptir", []byte("ptir 1 fused \"\"\n\n"+text))
	if len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, text)
	}
	return m.Funcs[0]
}

// TestFoldCases: attentions among the kernels of each class.
func TestFoldCases(t *testing.T) {
	text, err := os.ReadFile("../../nest/testdata/kernels.ptir")
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
		checkFold(t, f, irtest.Arguments(f, 1), rand.New(rand.NewSource(1)), 4)
	}
	if n < 5 {
		t.Errorf("%d attentions", n)
	}
}

// TestFoldMatrices: attentions of 16 bits whose blocks are as large as matrix instructions, with tails.
func TestFoldMatrices(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	for i, a := range []irtest.Attention{
		{Batch: 1, Heads: 2, Group: 2, Rows: 45, Keys: 45, Cols: 16, Values: 16, Causal: true, Stats: true},
		{Batch: 2, Heads: 1, Group: 1, Rows: 33, Keys: 70, Cols: 32, Values: 24, Stats: true, Bias: true},
		{Batch: 1, Heads: 2, Group: 1, Rows: 50, Keys: 50, Cols: 20, Values: 16, Causal: true, Window: 9, Latent: true},
		{Batch: 1, Heads: 1, Group: 1, Rows: 64, Keys: 64, Cols: 64, Values: 64, Causal: true, Dropout: true, Transposed: true},
	} {
		a.BF16 = true
		for _, text := range []string{a.Forward(), a.Backward()} {
			f := attention(t, text)
			foldAs(t, f, irtest.Arguments(f, int64(i)), r, schedule.Schedule{Rows: 16 << r.Intn(3), Over: 16 << r.Intn(3),
				Left: schedule.PerTask, Right: schedule.PerTask, Stages: 1 + r.Int63n(3), Dot: schedule.Dot{Kind: schedule.MMA, M: 16, N: 8, K: 16}})
		}
	}
}

// TestNearExponentials: attentions of 16 bits have the hardware's exponentials, in both phases, and those of f32 have not.
func TestNearExponentials(t *testing.T) {
	for _, bf16 := range []bool{true, false} {
		a := irtest.Attention{Batch: 1, Heads: 1, Group: 1, Rows: 32, Keys: 32, Cols: 16, Values: 16, Stats: true, BF16: bf16}
		for _, text := range []string{a.Forward(), a.Backward()} {
			k, err := fusion.Analyze(attention(t, text))
			if err != nil {
				t.Fatal(err)
			}
			parts, err := nest.Fold("k", k, choose.Schedule(k, choose.GPU{}))
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range parts {
				all, err := Kernels(nvptx.Machine{}, p.Program, 4)
				if err != nil {
					t.Fatal(err)
				}
				near := 0
				for _, s := range all[0].Entry.Body {
					if s.Op == "ex2.approx.ftz.f32" {
						near++
					}
				}
				if bf16 != (near > 0) {
					t.Errorf("bf16 %v: %d of the hardware's exponentials\n%s", bf16, near, p.Program)
				}
			}
		}
	}
}

// countGroups looks for matrix instructions of warpgroups, of which some have an operand in registers, and for copies of tiles.
func countGroups(t *testing.T, k Kernel[*ptx.Entry], s schedule.Schedule) {
	t.Helper()
	groups, registers, tiles := 0, 0, 0
	for _, x := range k.Entry.Body {
		if strings.HasPrefix(x.Op, "wgmma.mma") {
			groups++
			if x.Args[1].Kind == ptx.IsVec {
				registers++
			}
		}
		if strings.HasPrefix(x.Op, "cp.async.bulk.tensor") {
			tiles++
		}
	}
	fills := s.Rows >= assign.GroupRows*s.Warps/assign.GroupWarps // each warpgroup has all weights of its rows
	if groups == 0 || fills && registers == 0 || tiles == 0 {
		t.Errorf("%s: %d products of warpgroups, %d with an operand in registers, and %d copies of tiles", s, groups, registers, tiles)
	}
}

// TestFoldGroups: attentions of 16 bits by matrix instructions of warpgroups, at the heads that models have, in both
// phases, for copies and products that end at any time, or late.
func TestFoldGroups(t *testing.T) {
	r := rand.New(rand.NewSource(11))
	for i, a := range []irtest.Attention{
		{Batch: 1, Heads: 1, Group: 1, Rows: 128, Keys: 128, Cols: 64, Values: 64, Causal: true, Stats: true},
		{Batch: 1, Heads: 1, Group: 2, Rows: 100, Keys: 100, Cols: 64, Values: 64, Causal: true, Stats: true},
		{Batch: 1, Heads: 1, Group: 1, Rows: 200, Keys: 200, Cols: 64, Values: 64, Causal: true, Stats: true},
		{Batch: 1, Heads: 1, Group: 1, Rows: 128, Keys: 130, Cols: 128, Values: 128, Stats: true, Bias: true},
	} {
		a.BF16 = true
		for j, text := range []string{a.Forward(), a.Backward()} {
			f := attention(t, text)
			foldAs(t, f, irtest.Arguments(f, int64(i)), r, schedule.Schedule{Rows: int64(64 << (i / 2 % 2)), Over: 64, Warps: int64(4 << ((i + j) % 2)),
				Left: schedule.PerTask, Right: schedule.PerTask, Stages: 1 + int64(i+j)%3, Dot: schedule.Dot{Kind: schedule.WGMMA, M: 64, N: 64, K: 16}})
		}
	}
}

// TestFoldRandom: attentions at random, in both phases, and steps of a ring.
func TestFoldRandom(t *testing.T) {
	n := 12
	if testing.Short() {
		n = 3
	}
	r := rand.New(rand.NewSource(7))
	for i := range n {
		a := irtest.RandomAttention(r)
		a.Rows, a.Keys, a.Slopes = (a.Rows+1)/2, (a.Keys+1)/2, i%5 == 0
		if a.Dropout { // of a row that sees no key, what is dropped would be the one number
			a.Document = false
			a.Keys = max(a.Keys, a.Rows)
		}
		for _, text := range []string{a.Forward(), a.Backward()} {
			f := attention(t, text)
			checkFold(t, f, irtest.Arguments(f, int64(i)), r, 1)
		}
	}
	for _, c := range irtest.RingSteps {
		f := attention(t, irtest.Ring)
		checkFold(t, f, c.Arguments(f), r, 1)
	}
}
