package lanes

import (
	"fmt"
	"math"
	"math/rand"
	"os"
	"slices"
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
	"ptc/backend/nest"
	"ptc/ir"
	"ptc/ir/eval"
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

// checkKernel interprets the kernel generated for f and compares each result
// with the evaluator's.
func checkKernel(t *testing.T, f *ir.Func, seed int64) {
	t.Helper()
	checkArgs(t, f, arguments(f, seed))
}

// checkArgs is checkKernel with arguments.
func checkArgs(t *testing.T, f *ir.Func, args []*tensor.Tensor) {
	t.Helper()
	want, err := eval.Func(&ir.Module{Funcs: []*ir.Func{f}}, f, args, eval.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range machines {
		k, err := Kernel("k", f, m)
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
				if at, diff := worst(got, w); !(diff < tolerance(w.Type.DType)) {
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
	text, err := os.ReadFile("../nest/testdata/kernels.ptir")
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

// Products go to backend/kernel/gemm: what it cannot take would be slow.
func TestProducts(t *testing.T) {
	n := 0
	for _, k := range apart(t, kernels(t)) {
		if k.Class != fusion.Gemm {
			continue
		}
		n++
		p, err := nest.Program("k", k, nest.Lanes(k, 8))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := productOf(p.Phases[0]); err != nil || len(p.Phases) != 1 {
			t.Errorf("@%s: %v, %d phases\n%s", k.F.Name, err, len(p.Phases), p)
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

// worst is the largest difference relative to the larger of the value and the
// tensor's root mean square.
func worst(a, b *tensor.Tensor) (at int, diff float64) {
	var sum float64
	n := 0
	for _, v := range b.Data {
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			sum += v * v
			n++
		}
	}
	rms := math.Sqrt(sum/float64(max(n, 1))) + 1e-30
	for i, v := range b.Data {
		d := math.Abs(a.Data[i]-v) / math.Max(rms, math.Abs(v))
		if a.Data[i] == v || math.IsNaN(a.Data[i]) && math.IsNaN(v) {
			d = 0
		}
		if math.IsNaN(d) {
			d = math.Inf(1)
		}
		if d > diff {
			at, diff = i, d
		}
	}
	return at, diff
}

// arguments are drawn for f.
func arguments(f *ir.Func, seed int64) []*tensor.Tensor {
	r := rand.New(rand.NewSource(seed))
	args := make([]*tensor.Tensor, len(f.Args))
	for i, a := range f.Args {
		args[i] = randomFor(r, f, a.Value)
	}
	return args
}

// randomFor draws values for an argument: positive for what is divided by or
// drawn a root or logarithm of, indices a little beyond the range.
func randomFor(r *rand.Rand, f *ir.Func, v *ir.Value) *tensor.Tensor {
	x := tensor.New(v.Type)
	for i := range x.Data {
		switch v.Type.DType {
		case ir.I32:
			x.Data[i] = float64(r.Intn(12) - 1)
		case ir.Bool:
			x.Data[i] = float64(r.Intn(2))
		default:
			x.Data[i] = 0.5 + r.Float64()
		}
	}
	return x.Round()
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
	for _, text := range []string{`func @k class=kernel mesh={dp=2, tp=3}
  arg %0 : f32[b=4@dp, c=7@tp] in
  arg %1 : i32[mesh=2] in "coord"
  %2 : i32[c=7@tp] = index axis=c mesh=(tp) size=7
  %3 : f32[c=7@tp] = cast %2 to=f32
  %4 : f32[b=4@dp, c=7@tp] = add %0, %3
  %5 : i32[] = coordinate over=(dp, tp)
  %6 : f32[] = cast %5 to=f32
  %7 : f32[b=4@dp, c=7@tp] = mul %4, %6
  result %7 out
end
`, `func @k class=kernel kind=horizontal mesh={dp=2, tp=3}
  arg %0 : f32[b=4@dp] in
  arg %1 : i32[mesh=2] in "coord"
  %2 : i32[c=7@tp] = index axis=c mesh=(tp) size=7
  %3 : f32[c=7@tp] = cast %2 to=f32
  %4 : f32[b=4@dp] = neg %0
  %5 : i32[] = coordinate over=(dp, tp)
  %6 : f32[] = cast %5 to=f32
  result %3 out
  result %6 out
  result %4 out
end
`, `func @k class=kernel mesh={dp=2, tp=3}
  arg %0 : i32[] in
  arg %1 : i32[] in
  arg %2 : i32[mesh=2] in "coord"
  %3 : f32[b=4@dp, c=7@tp] = random %0, %1 axes={b=4, c=7} dist=uniform mesh={b:dp, c:tp} site=5
  result %3 out
end
`, `func @k class=kernel mesh={dp=2, tp=3}
  arg %0 : f32[b=4@dp, s=7@tp, d=5] in
  arg %1 : f32[b=4@dp, t=21, d=5] in
  arg %2 : i32[mesh=2] in "coord"
  %3 : f32[b=4@dp, s=7@tp, t=21] = dot %0, %1 over=(d)
  %4 : i32[s=7@tp] = index axis=s mesh=(tp) size=7
  %5 : i32[t=21] = index axis=t size=21
  %6 : bool[s=7@tp, t=21] = ge %4, %5
  %7 : f32[] = const dtype=f32 value=-inf
  %8 : f32[b=4@dp, s=7@tp, t=21] = select %6, %3, %7
  %9 : f32[b=4@dp, s=7@tp] = reduce_max %8 over=(t)
  %10 : f32[b=4@dp, s=7@tp, t=21] = sub %8, %9
  %11 : f32[b=4@dp, s=7@tp, t=21] = exp %10
  %12 : f32[b=4@dp, s=7@tp] = reduce_sum %11 over=(t)
  %13 : f32[b=4@dp, s=7@tp, t=21] = div %11, %12
  %14 : f32[b=4@dp, s=7@tp, d=5] = dot %13, %1 out=(b, s, d) over=(t)
  result %14 out
end
`, `func @k class=kernel mesh={dp=2, tp=3}
  arg %0 : f32[v=4@tp, e=5] in
  arg %1 : i32[b=3@dp] in
  arg %2 : i32[mesh=2] in "coord"
  %3 : f32[b=3@dp, e=5] = gather %0, %1 axis=v
  result %3 out
end
`, `func @k class=kernel mesh={dp=2, tp=3}
  arg %0 : f32[b=3@dp, e=5] in
  arg %1 : i32[b=3@dp] in
  arg %2 : i32[mesh=2] in "coord"
  %3 : f32[v=4@tp, e=5] = scatter_add %0, %1 axis=v out={v=4, e=5}
  result %3 out
end
`} {
		f := parse(t, text)
		m := &ir.Module{Level: ir.Fused, Funcs: []*ir.Func{f}, Mesh: []ir.MeshAxis{{Name: "dp", Size: 2}, {Name: "tp", Size: 3}}}
		var args [][]*tensor.Tensor
		shared := arguments(f, 1)
		for d := range m.Devices() {
			mine := append([]*tensor.Tensor(nil), shared...)
			last := len(mine) - 1
			mine[last] = tensor.New(f.Args[last].Value.Type)
			mine[last].Data[0], mine[last].Data[1] = float64(d/3), float64(d%3)
			args = append(args, mine)
		}
		want, err := eval.Devices(m, f, args, eval.Options{})
		if err != nil {
			t.Fatal(err)
		}
		k, err := Kernel("k", f, machines[0])
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
			if at, diff := worst(got, want[d][0]); !(diff < 1e-5) {
				t.Errorf("device %d: %v at %d, want %v\n%s", d, got.Data[at], at, want[d][0].Data[at], text)
			}
		}
	}
}
