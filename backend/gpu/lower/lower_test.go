package lower

import (
	"math/rand"
	"os"
	"slices"
	"testing"

	"ptc/backend/gpu/choose"
	"ptc/backend/gpu/emu"
	"ptc/backend/gpu/nvptx"
	"ptc/backend/nest"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/fusion"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
	"ptc/passes/fuse"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// classes are all that a kernel without sections may have.
var classes = []fusion.Class{fusion.Map, fusion.Row, fusion.Column, fusion.Pieces, fusion.Gemm, fusion.Scatter, fusion.Attend}

// wide reports whether f has f64, which runs on the reference only.
func wide(f *ir.Func) bool {
	return slices.ContainsFunc(f.Ops, func(o *ir.Op) bool {
		return slices.ContainsFunc(slices.Concat(o.Results, o.Args), func(v *ir.Value) bool { return v.Type.DType == ir.F64 })
	})
}

// schedules are cuts of a kernel.
func schedules(k *fusion.Kernel, r *rand.Rand) []schedule.Schedule {
	pick := func(of ...int64) int64 { return of[r.Intn(len(of))] }
	out := []schedule.Schedule{{Cols: 256, Grid: -1, Rows: 1}, choose.Schedule(k, choose.GPU{})}
	for range 2 {
		out = append(out, schedule.Schedule{Rows: pick(1, 2, 3, 4), Cols: pick(4, 16, 30, 128), Over: pick(0, 0, 3, 8), Grid: r.Int63n(4) - 1})
	}
	return out
}

// check runs the kernels of k under the emulator, and compares with the evaluator; with each
// result in the place of an argument, where it may be, as well.
func check(t *testing.T, k *fusion.Kernel, seed int64) {
	t.Helper()
	f := k.F
	args := irtest.Arguments(f, seed)
	want, err := eval.Func(&ir.Module{Funcs: []*ir.Func{f}}, f, args, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewSource(seed))
	for i, s := range schedules(k, r) {
		if k.Class == fusion.Scatter && s.Task == 0 {
			s.Over = 1
		}
		p, err := nest.Program("k", k, s)
		if err != nil {
			t.Fatal(err)
		}
		warps := 1 << r.Intn(4)
		kernels, err := Kernels(nvptx.Machine{}, p, warps)
		if err != nil {
			t.Fatalf("%v\n%s", err, p)
		}
		run := func(arg, over int) {
			d := &emu.Device{Options: emu.Options{Check: true, Steps: 1 << 22, Seed: uint64(i)}}
			var words []emu.Arg
			for _, a := range args {
				b := make([]byte, a.Type.Bytes())
				a.Put(b)
				words = append(words, emu.Word(d.Map(b)))
			}
			var outs [][]byte
			for i, res := range f.Results {
				b := make([]byte, res.Value.Type.Bytes())
				for i := range b {
					b[i] = 0xa5 // every element must be written
				}
				if i == over {
					words = append(words, words[arg])
					b, _ = d.Bytes(words[arg].Word, len(b))
				} else {
					words = append(words, emu.Word(d.Map(b)))
				}
				outs = append(outs, b)
			}
			for n, k := range kernels {
				e, err := emu.Load(k.Entry)
				if err != nil {
					t.Fatal(err)
				}
				if err := d.Run(e, emu.Launch{Grid: int(k.Blocks), Shared: k.Shared, Args: words}); err != nil {
					t.Fatalf("launch %d, %d warps, %s: %v\n%s\n%s", n, warps, s, err, ir.PrintFunc(f), p)
				}
			}
			for i, w := range want {
				got := tensor.New(f.Results[i].Value.Type)
				got.Get(outs[i])
				if at, diff := irtest.Worst(got, w); !(diff < tolerance(w.Type.DType)) {
					t.Fatalf("result %d, with %d over argument %d, %d warps, %s: element %d is %v, want %v\n%s\n%s", i, over, arg, warps, s, at, got.Data[at], w.Data[at], ir.PrintFunc(f), p)
				}
			}
		}
		run(-1, -1)
		for a := range f.Args {
			for r := range f.Results {
				if k.InPlace(a, r) {
					run(a, r)
				}
			}
		}
	}
}

func tolerance(d ir.DType) float64 {
	switch d {
	case ir.BF16:
		return 2e-2
	case ir.F16:
		return 2e-3
	}
	return 1e-4
}

// kernels are those that tests of tile programs have.
func kernels(t *testing.T) *ir.Module {
	t.Helper()
	text, err := os.ReadFile("../../nest/testdata/kernels.ptir")
	if err != nil {
		t.Fatal(err)
	}
	m, errs := ir.Parse("kernels.ptir", text)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return m
}

// TestCases: orders of axes, sizes of one, tails, dtypes.
func TestCases(t *testing.T) {
	m := kernels(t)
	count := map[fusion.Class]int{}
	for _, f := range m.Funcs {
		if wide(f) {
			continue
		}
		t.Run(f.Name, func(t *testing.T) {
			whole, err := fusion.Analyze(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range whole.Apart() {
				count[k.Class]++
				check(t, k, 1)
			}
		})
	}
	for _, class := range classes {
		if count[class] < 3 {
			t.Errorf("%d kernels of class %s", count[class], class)
		}
	}
}

// TestRandom: kernels of fused random modules.
func TestRandom(t *testing.T) {
	count := map[fusion.Class]int{}
	for name, random := range map[string]func(*rand.Rand, int) *ir.Module{"all": passtest.RandomModule, "reductions": passtest.RandomReductions} {
		for seed := range int64(6) {
			m := random(rand.New(rand.NewSource(seed)), 40)
			m.Level = ir.Local
			if err := fuse.Run(&pass.Context{}, m); err != nil {
				t.Fatal(err)
			}
			for _, f := range m.Funcs {
				if f.Class != ir.Kernel || wide(f) {
					continue
				}
				whole, err := fusion.Analyze(f)
				if err != nil {
					t.Fatal(err)
				}
				for _, k := range whole.Apart() {
					count[k.Class]++
					check(t, k, seed)
				}
				if t.Failed() {
					t.Fatalf("%s, seed %d", name, seed)
				}
			}
		}
	}
	for _, class := range []fusion.Class{fusion.Map, fusion.Row, fusion.Column} {
		if count[class] < 3 {
			t.Errorf("%d kernels of class %s", count[class], class)
		}
	}
}
