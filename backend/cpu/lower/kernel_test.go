package lower

import (
	"fmt"
	"math/rand"
	"os"
	"slices"
	"testing"

	"ptc/backend/cpu/choose"
	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/fusion"
	"ptc/ir/irtest"
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

// checkKernel interprets the kernel generated for f and compares each result
// with the evaluator's.
func checkKernel(t *testing.T, f *ir.Func, seed int64) {
	t.Helper()
	checkArgs(t, f, irtest.Arguments(f, seed))
}

// checkArgs is checkKernel with arguments.
func checkArgs(t *testing.T, f *ir.Func, args []*tensor.Tensor) {
	t.Helper()
	want, err := eval.Func(&ir.Module{Funcs: []*ir.Func{f}}, f, args, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range machines {
		k, err := Kernel("k", f, m, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, ir.PrintFunc(f))
		}
		bufs, outs := buffers(f, args)
		compare := func(where string) {
			t.Helper()
			if err := kerneltest.Interpret(k, bufs, 0, k.Tasks); err != nil {
				t.Fatalf("%d bits%s: %v\n%s\n%s", m.VectorBits, where, err, ir.PrintFunc(f), k)
			}
			for i, w := range want {
				got := tensor.New(f.Results[i].Value.Type)
				got.Get(outs[i])
				if at, diff := irtest.Worst(got, w); !(diff < tolerance(w.Type.DType)) {
					t.Errorf("%d bits%s: result %d differs at %d: %v, want %v\n%s", m.VectorBits, where, i, at, got.Data[at], w.Data[at], ir.PrintFunc(f))
				}
			}
		}
		compare("")
		analysis, err := fusion.Analyze(f)
		if err != nil {
			t.Fatal(err)
		}
		for a := range f.Args {
			for i := range f.Results {
				if analysis.InPlace(a, i) {
					bufs, outs = buffers(f, args)
					bufs[len(args)+i], outs[i] = bufs[a], bufs[a]
					inPlace[analysis.Class]++
					compare(fmt.Sprintf(", result %d over argument %d", i, a))
				}
			}
		}
	}
}

// kernels are those of each class that nest's tests have.
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

// apart are the kernels of m, sections of horizontal ones each for itself.
func apart(t *testing.T, m *ir.Module) (all []*fusion.Kernel) {
	t.Helper()
	for _, f := range m.Funcs {
		if f.Class != ir.Kernel || wide(f) {
			continue
		}
		k, err := fusion.Analyze(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, k.Apart()...)
	}
	return all
}

// wide reports whether f has f64, which runs on the reference only.
func wide(f *ir.Func) bool {
	return slices.ContainsFunc(f.Ops, func(o *ir.Op) bool {
		return slices.ContainsFunc(slices.Concat(o.Results, o.Args), func(v *ir.Value) bool { return v.Type.DType == ir.F64 })
	})
}

func TestKernels(t *testing.T) {
	for _, f := range kernels(t).Funcs {
		t.Run(f.Name, func(t *testing.T) { checkKernel(t, f, 1) })
	}
}

// Products go to backend/cpu/gemm: what it cannot take would be slow.
func TestProducts(t *testing.T) {
	n := 0
	for _, k := range apart(t, kernels(t)) {
		if k.Class != fusion.Gemm {
			continue
		}
		n++
		if _, err := productKernel("k", k, choose.Schedule(k, 8), machines[0]); err != nil {
			t.Errorf("@%s: %v", k.F.Name, err)
		}
	}
	if n < 8 {
		t.Errorf("%d products", n)
	}
}

// Kernels of fused random modules: of all operations, and of reductions and elementwise
// work between them.
func TestRandomKernels(t *testing.T) {
	count := map[fusion.Class]int{}
	for name, random := range map[string]func(*rand.Rand, int) *ir.Module{"all": passtest.RandomModule, "reductions": passtest.RandomReductions} {
		for seed := range int64(12) {
			m := random(rand.New(rand.NewSource(seed)), 40)
			m.Level = ir.Local
			if err := fuse.Run(&pass.Context{}, m); err != nil {
				t.Fatal(err)
			}
			for _, k := range apart(t, m) {
				count[k.Class]++
			}
			for _, f := range m.Funcs {
				if f.Class == ir.Kernel && !wide(f) {
					checkKernel(t, f, seed)
				}
			}
			if t.Failed() {
				t.Fatalf("%s, seed %d", name, seed)
			}
		}
	}
	for _, class := range []fusion.Class{fusion.Map, fusion.Row, fusion.Column} {
		if count[class] < 5 {
			t.Errorf("%d kernels of class %s", count[class], class)
		}
	}
}

// inPlace counts the kernels of each class that wrote a result over an argument.
var inPlace = map[fusion.Class]int{}

func buffers(f *ir.Func, args []*tensor.Tensor) (bufs, outs [][]byte) {
	for _, a := range args {
		b := make([]byte, a.Type.Bytes())
		a.Put(b)
		bufs = append(bufs, b)
	}
	for _, r := range f.Results {
		b := make([]byte, r.Value.Type.Bytes())
		for i := range b {
			b[i] = 0xa5 // every element must be written
		}
		outs = append(outs, b)
	}
	return append(bufs, outs...), outs
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

func parse(t *testing.T, body string) *ir.Func {
	t.Helper()
	m, errs := ir.Parse("test.ptir", []byte(fmt.Sprintf("ptir 1 fused \"t\"\n\n%s", body)))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return m.Funcs[0]
}

// TestDevices interprets kernels that depend on the device, on every device of
// a mesh, and compares with the evaluator's devices.
func TestDevices(t *testing.T) {
	for _, text := range irtest.DeviceKernels {
		f := parse(t, text)
		m, args := irtest.OnDevices(f, 1)
		want, err := eval.Devices(m, f, args, eval.Options{})
		if err != nil {
			t.Fatal(err)
		}
		k, err := Kernel("k", f, machines[0], nil)
		if err != nil {
			t.Fatal(err)
		}
		for d := range args {
			bufs, outs := buffers(f, args[d])
			if err := kerneltest.Interpret(k, bufs, 0, k.Tasks); err != nil {
				t.Fatal(err)
			}
			got := tensor.New(f.Results[0].Value.Type)
			got.Get(outs[0])
			if at, diff := irtest.Worst(got, want[d][0]); !(diff < 1e-5) {
				t.Errorf("device %d: %v at %d, want %v\n%s", d, got.Data[at], at, want[d][0].Data[at], text)
			}
		}
	}
}
