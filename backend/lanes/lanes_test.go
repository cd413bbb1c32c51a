package lanes

import (
	"bytes"
	"math/rand"
	"os"
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
	"ptc/backend/kernel/lower"
	"ptc/backend/nest"
	"ptc/backend/tile/schedule"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/tensor"
	"ptc/passes/fuse"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// machines are descriptions to generate for: widths, and without masks.
var machines = []kernel.Machine{
	{VectorBits: 512, Registers: 32, FMA: true, Masked: true, L1: 32 << 10, L2: 1 << 20},
	{VectorBits: 128, Registers: 16, L1: 32 << 10, L2: 256 << 10},
}

var classes = []fusion.Class{fusion.Map, fusion.Row, fusion.Column, fusion.Pieces, fusion.Gemm, fusion.Scatter}

// alike compares what the kernel of f's tile program stores with what the present
// generator's stores, bit by bit, in every in-place combination too.
func alike(t *testing.T, f *ir.Func, k *fusion.Kernel, seed int64) {
	t.Helper()
	args := arguments(f, seed)
	for _, m := range machines {
		want, err := lower.Kernel("k", f, m)
		if err != nil {
			t.Fatal(err)
		}
		got := one(t, k, nest.Lanes(k, int64(m.Lanes(kernel.F32))), m)
		if got.Tasks != want.Tasks {
			t.Errorf("%d bits: %d tasks, want %d\n%s", m.VectorBits, got.Tasks, want.Tasks, ir.PrintFunc(f))
		}
		over := [][2]int{{-1, -1}}
		for a := range f.Args {
			for r := range f.Results {
				if k.InPlace(a, r) {
					over = append(over, [2]int{a, r})
				}
			}
		}
		for _, o := range over {
			w, g := outputs(t, want, f, args, o), outputs(t, got, f, args, o)
			for i := range w {
				if !bytes.Equal(w[i], g[i]) {
					t.Errorf("%d bits, in place %v: result %d differs\n%s\n%s\n%s", m.VectorBits, o, i, ir.PrintFunc(f), got, want)
				}
			}
		}
	}
}

func one(t *testing.T, k *fusion.Kernel, s schedule.Schedule, m kernel.Machine) *kernel.Kernel {
	t.Helper()
	p, err := nest.Program("k", k, s)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Kernels(p, m)
	if err != nil || len(all) != 1 {
		t.Fatalf("%d kernels, %v\n%s", len(all), err, p)
	}
	return all[0]
}

// outputs are the results' bytes, where over[1] is not negative with that result in the
// place of argument over[0].
func outputs(t *testing.T, k *kernel.Kernel, f *ir.Func, args []*tensor.Tensor, over [2]int) [][]byte {
	t.Helper()
	var bufs, outs [][]byte
	for _, a := range args {
		b := make([]byte, a.Type.Bytes())
		a.Put(b)
		bufs = append(bufs, b)
	}
	for i, r := range f.Results {
		b := bytes.Repeat([]byte{0xa5}, r.Value.Type.Bytes()) // every element must be written
		if i == over[1] {
			b = bufs[over[0]]
		}
		outs = append(outs, b)
	}
	if err := kerneltest.Interpret(k, append(bufs, outs...), 0, k.Tasks); err != nil {
		t.Fatalf("%v\n%s\n%s", err, ir.PrintFunc(f), k)
	}
	return outs
}

// arguments are positive numbers, and indices a little beyond the range.
func arguments(f *ir.Func, seed int64) []*tensor.Tensor {
	r := rand.New(rand.NewSource(seed))
	args := make([]*tensor.Tensor, len(f.Args))
	for i, a := range f.Args {
		x := tensor.New(a.Value.Type)
		for j := range x.Data {
			switch x.Type.DType {
			case ir.I32:
				x.Data[j] = float64(r.Intn(12) - 1)
			case ir.Bool:
				x.Data[j] = float64(r.Intn(2))
			default:
				x.Data[j] = 0.5 + r.Float64()
			}
		}
		args[i] = x.Round()
	}
	return args
}

// Kernels of each class store the bits of the present generators.
func TestBits(t *testing.T) {
	text, err := os.ReadFile("testdata/kernels.ptir")
	if err != nil {
		t.Fatal(err)
	}
	m, errs := ir.Parse("kernels.ptir", text)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	count := map[fusion.Class]int{}
	for _, f := range m.Funcs {
		k, err := fusion.Analyze(f)
		if err != nil {
			t.Fatal(err)
		}
		count[k.Class]++
		alike(t, f, k, 1)
		if t.Failed() {
			t.Fatalf("@%s", f.Name)
		}
	}
	for _, class := range classes {
		if count[class] < 3 {
			t.Errorf("%d kernels of class %s", count[class], class)
		}
	}
}

func TestBitsOfRandomKernels(t *testing.T) {
	count := map[fusion.Class]int{}
	for name, random := range map[string]func(*rand.Rand, int) *ir.Module{"all": passtest.RandomModule, "reductions": passtest.RandomReductions} {
		for seed := range int64(12) {
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
					alike(t, k.F, k, seed)
					if t.Failed() {
						t.Fatalf("%s, seed %d", name, seed)
					}
				}
			}
		}
	}
	for _, class := range classes[:3] {
		if count[class] < 5 {
			t.Errorf("%d kernels of class %s", count[class], class)
		}
	}
}

// wide reports whether f has f64, which runs on the reference only.
func wide(f *ir.Func) bool {
	for _, o := range f.Ops {
		for _, v := range append(o.Results, o.Args...) {
			if v.Type.DType == ir.F64 {
				return true
			}
		}
	}
	return false
}
