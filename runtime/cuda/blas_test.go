package cuda_test

import (
	"fmt"
	"math/rand"
	"slices"
	"strings"
	"testing"

	"ptc/backend"
	"ptc/internal/foreign"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
	"ptc/runtime/cuda/blaslt"
	"ptc/runtime/cuda/blaslt/fakeblaslt"
	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/device"
	"ptc/runtime/program"
)

// withLibrary has what is opened find a library of products for tests, which must be left clean.
func withLibrary(t *testing.T, o fakeblaslt.Options) *fakeblaslt.Library {
	t.Helper()
	if err := foreign.Many(); err != nil {
		t.Skip(err)
	}
	l := fakeblaslt.New(o)
	blaslt.Use(l.Lookup)
	t.Cleanup(func() {
		blaslt.Use(nil)
		if p, left := l.Problems(), l.Leaks(); len(p) > 0 || len(left) > 0 {
			t.Errorf("problems of the library %q, left %q", p, left)
		}
	})
	return l
}

// products is a plan of kernels, each called once, with a buffer for each argument; the results of over are
// in the place of arguments.
type products struct {
	plan *program.Plan
	fs   []*ir.Func
	bufs [][]int // by kernel
}

// parsed are the functions of a text.
func parsed(t *testing.T, text string) []*ir.Func {
	t.Helper()
	m, errs := ir.Parse("k.ptir", []byte("ptir 1 fused \"\"\n\n"+text))
	if len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, text)
	}
	return m.Funcs
}

// newProducts compiles functions; in is, of a kernel's result, the argument that it is over.
func newProducts(t *testing.T, text string, noWait bool, in map[int]int) *products {
	t.Helper()
	target, err := backend.Resolve("cuda:sm_90a")
	if err != nil {
		t.Fatal(err)
	}
	x := &products{fs: parsed(t, text), plan: &program.Plan{Name: "products", Target: "cuda:sm_90a", Devices: make([]program.Device, 1)}}
	code, err := target.Generate(x.fs, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	x.plan.Code, x.plan.Kernels = code.Code, code.Kernels
	d := &x.plan.Devices[0]
	d.Progs = []program.Program{{Name: "step"}}
	for i, f := range x.fs {
		k := &x.plan.Kernels[i]
		k.Name, k.Class, k.IR = f.Name, "gemm", ir.PrintFunc(f)
		var bufs []int
		add := func(v *ir.Value, write bool) {
			t := v.Type
			k.Args = append(k.Args, program.Arg{Bytes: int64(t.Bytes()), Write: write})
			b := program.Buffer{Space: program.Scratch, Offset: d.Arena, Bytes: int64(t.Bytes()), DType: t.DType.String()}
			for _, a := range t.Axes {
				b.Axes = append(b.Axes, program.Axis{Name: a.Name, Size: a.Size, Global: a.Size})
			}
			d.Arena += (b.Bytes + program.Align - 1) / program.Align * program.Align
			d.Buffers = append(d.Buffers, b)
			bufs = append(bufs, len(d.Buffers)-1)
		}
		for _, a := range f.Args {
			add(a.Value, false)
		}
		for _, r := range f.Results {
			if over, ok := in[i]; ok {
				k.Args = append(k.Args, program.Arg{Bytes: int64(r.Value.Type.Bytes()), Write: true})
				bufs = append(bufs, bufs[over])
				continue
			}
			add(r.Value, true)
		}
		x.bufs = append(x.bufs, bufs)
		d.Progs[0].Instrs = append(d.Progs[0].Instrs, program.Instr{Kernel: i, Bufs: bufs, NoWait: noWait && i > 0})
	}
	if err := x.plan.Validate(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return x
}

// open opens the plan; warnings are appended to told.
func (x *products) open(t *testing.T, dir string, told *[]string) (device.Engine, device.Program, error) {
	t.Helper()
	kind, err := device.Find("ptx")
	if err != nil {
		t.Fatal(err)
	}
	r := device.Request{Plan: x.plan, Device: &x.plan.Devices[0], Threads: 1, Blas: device.BlasLt,
		Warn: func(text string) { *told = append(*told, text) }}
	if dir != "" {
		r.Cache = []string{dir}
	}
	e, err := kind.Open(r)
	if err != nil {
		return nil, nil, err
	}
	p, err := e.Capture(0)
	if err != nil {
		e.Close()
		return nil, nil, err
	}
	return e, p, nil
}

// check gives every kernel random arguments, runs the program, stepping or as a graph, and compares what it
// writes with the evaluator.
func (x *products) check(e device.Engine, p device.Program, seed int64, step bool) error {
	d, wants := &x.plan.Devices[0], [][]*tensor.Tensor{}
	for i, f := range x.fs {
		args := irtest.Arguments(f, seed+int64(i))
		want, err := eval.Func(&ir.Module{Funcs: []*ir.Func{f}}, f, args, eval.Options{})
		if err != nil {
			return err
		}
		wants = append(wants, want)
		for j, a := range args {
			b := make([]byte, a.Type.Bytes())
			a.Put(b)
			if err := e.Memory("").CopyIn(d.Buffers[x.bufs[i][j]].Offset, b); err != nil {
				return err
			}
		}
	}
	if step {
		if err := p.Step(0, len(x.fs)); err != nil {
			return err
		}
	} else {
		p.Launch()
		if err := p.Wait(); err != nil {
			return err
		}
	}
	for i, f := range x.fs {
		for j, want := range wants[i] {
			b := make([]byte, want.Type.Bytes())
			if err := e.Memory("").CopyOut(b, d.Buffers[x.bufs[i][len(f.Args)+j]].Offset); err != nil {
				return err
			}
			got := tensor.New(want.Type)
			got.Get(b)
			if at, diff := irtest.Worst(got, want); !(diff < tolerances[want.Type.DType]) {
				return fmt.Errorf("%s: element %d is %v, want %v\n%s", f.Name, at, got.Data[at], want.Data[at], ir.PrintFunc(f))
			}
		}
	}
	return nil
}

// tolerances are by which results differ whose sums are rounded otherwise.
var tolerances = map[ir.DType]float64{ir.F32: 1e-4, ir.F16: 2e-3, ir.BF16: 2e-2}

// axes is text of axes: "a=2, b=3".
func axes(of map[string]int, names ...string) string {
	var out []string
	for _, n := range names {
		out = append(out, fmt.Sprintf("%s=%d", n, of[n]))
	}
	return strings.Join(out, ", ")
}

// randomProduct is the text of a kernel that is a product, of operands in random orders of axes, with what is
// added; over is the argument that the result may be over, or -1.
func randomProduct(r *rand.Rand, name string) (text string, over int) {
	of := map[string]int{}
	for _, n := range []string{"b", "m", "s", "n", "h", "k", "j"} {
		of[n] = 1 + r.Intn(5)
	}
	pick := func(lists ...[]string) []string { return slices.Clone(lists[r.Intn(len(lists))]) }
	ms, ns, ks := pick([]string{"m"}, []string{"m", "s"}), pick([]string{"n"}, []string{"n", "h"}), pick([]string{"k"}, []string{"k", "j"})
	batch := pick(nil, []string{"b"})
	join := func(parts ...[]string) []string { return slices.Concat(parts...) }
	left := pick(join(batch, ms, ks), join(batch, ks, ms), join(ms, batch, ks), join(ks, batch, ms))
	right := pick(join(batch, ks, ns), join(batch, ns, ks), join(ks, batch, ns))
	out := pick(join(batch, ms, ns), join(ms, batch, ns), join(batch, ns, ms))
	from, to := "f32", "f32"
	if r.Intn(3) == 0 {
		from = []string{"bf16", "f16"}[r.Intn(2)]
		to = pick([]string{"f32"}, []string{from})[0]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "func @%s class=kernel kind=gemm\n", name)
	fmt.Fprintf(&b, "  arg %%0 : %s[%s] in\n  arg %%1 : %s[%s] in\n", from, axes(of, left...), from, axes(of, right...))
	kind := 0
	if to == "f32" {
		kind = r.Intn(4)
	}
	next := 2
	arg := func(of string) int {
		fmt.Fprintf(&b, "  arg %%%d : f32[%s] in\n", next, of)
		next++
		return next - 1
	}
	var terms []int
	over = -1
	if kind&1 != 0 {
		terms = append(terms, arg(axes(of, out...)))
		over = terms[0]
	}
	if kind&2 != 0 {
		row := ns
		if slices.Equal(out, join(batch, ns, ms)) {
			row = ms
		}
		terms = append(terms, arg(axes(of, row...)))
	}
	fmt.Fprintf(&b, "  %%%d : %s[%s] = dot %%0, %%1 out=(%s) over=(%s)", next, to, axes(of, out...), strings.Join(out, ", "), strings.Join(ks, ", "))
	if to != from {
		fmt.Fprintf(&b, " to=%s", to)
	}
	fmt.Fprintln(&b)
	for _, x := range terms {
		next++
		fmt.Fprintf(&b, "  %%%d : f32[%s] = add %%%d, %%%d\n", next, axes(of, out...), next-1, x)
	}
	fmt.Fprintf(&b, "  result %%%d out\nend\n", next)
	return b.String(), over
}

// TestProducts: random products that the library computes are those of the evaluator, in place as well.
func TestProducts(t *testing.T) {
	found, features := 0, map[string]int{}
	const cases = 150
	for i := range cases {
		r := rand.New(rand.NewSource(int64(i)))
		text, over := randomProduct(r, "product")
		in := map[int]int{}
		if over >= 0 && r.Intn(2) == 0 {
			in[0] = over
		}
		drv := onFake(t, fakecuda.Options{Seed: uint64(i % 3)})
		lib := withLibrary(t, fakeblaslt.Options{Driver: drv, Offers: []fakeblaslt.Offer{{Workspace: int64(i % 2 * 4096)}}})
		x := newProducts(t, text, false, in)
		if len(x.plan.Kernels[0].Products) == 0 {
			continue
		}
		found++
		p := &x.plan.Kernels[0].Products[0]
		for name, has := range map[string]bool{"left": p.Left.Transposed, "right": p.Right.Transposed, "batch": p.Batch > 1, "add": p.Add != nil, "bias": p.Bias != nil,
			"half": p.Left.DType != "f32", "narrow": p.Out.DType != "f32", "place": len(in) > 0} {
			if has {
				features[name]++
			}
		}
		var told []string
		e, prog, err := x.open(t, "", &told)
		if err != nil {
			t.Fatalf("case %d: %v\n%s", i, err, text)
		}
		before := len(lib.Order())
		for run := range 3 {
			if err := x.check(e, prog, int64(10*i+run), run < 2); err != nil {
				t.Fatalf("case %d, run %d: %v; faults %q", i, run, err, drv.Faults())
			}
		}
		if got := len(lib.Order()) - before; got != 3 || len(told) > 0 {
			t.Errorf("case %d: the library computed %d of 3 products; told %q\n%s", i, got, told, text)
		}
		e.Close()
	}
	t.Logf("%d of %d are products: %v", found, cases, features)
	for _, name := range []string{"left", "right", "batch", "add", "bias", "half", "narrow", "place"} {
		if features[name] < 3 {
			t.Errorf("%d products with %s", features[name], name)
		}
	}
}
