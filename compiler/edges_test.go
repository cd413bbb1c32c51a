package compiler

import (
	"fmt"
	"math"
	"math/rand"
	"os"
	"slices"
	"strings"
	"testing"

	"ptc/backend/cpu/llvm"
	"ptc/backend/elementwise"
	"ptc/backend/kernel"
	"ptc/backend/kernel/vmath"
	"ptc/backend/ref"
	"ptc/backend/tile"
	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/tensor"
	"ptc/runtime/device"
	"ptc/runtime/device/host"
	"ptc/runtime/native"
	"ptc/runtime/program"
)

// Native code is held against the reference at the edges of each dtype: zeros,
// subnormals, the smallest and largest numbers, ties of rounding, infinities, NaN.

// edges are the numbers of a float or integer dtype that operations may treat
// apart, rounded to it when they are stored.
func edges(d ir.DType) []float64 {
	inf, nan, zero := math.Inf(1), math.NaN(), math.Copysign(0, -1)
	switch d {
	case ir.Bool:
		return []float64{0, 1}
	case ir.I32:
		return []float64{0, 1, -1, 2, -2, 3, -3, 7, -7, 1000, 1 << 16, 1<<24 + 1, -(1<<24 + 1), 1<<24 + 3,
			1<<30 + 1, math.MaxInt32, math.MaxInt32 - 1, math.MinInt32, math.MinInt32 + 1}
	case ir.F16:
		return []float64{0, zero, 1, -1, 0.5, -0.5, 1.5, -2.5, 3, -3.5, 0x1p-24, -0x1p-24, 0x3ffp-24, 0x1p-14, -0x1p-14,
			65504, -65504, 2049, 1025, 6, -6, 10, -10, 11.5, -17, inf, -inf, nan}
	case ir.BF16:
		return []float64{0, zero, 1, -1, 0.5, -0.5, 1.5, -2.5, 3, -3.5, 0x1p-133, -0x1p-133, 0x7fp-133, 0x1p-126, -0x1p-126,
			0xffp120, -0xffp120, 257, 129, 6, -6, 10, -10, 88.5, -104, inf, -inf, nan}
	}
	return []float64{0, zero, 1, -1, 0.5, -0.5, 1.5, -2.5, 3, -3.5, 0x1p-149, -0x1p-149, 0x1.fffffcp-127, 0x1p-126, -0x1p-126,
		math.MaxFloat32, -math.MaxFloat32, 1<<24 + 2, -(1<<24 - 1), 1e30, -3e9, 2147483520, -2147483648, 2147483648, 6, -6.5, 10, -10,
		88.72283, 88.72284, -87.33655, -103.97207, -103.97209, 65519.996, 65520, 1 + 0x1p-11, 1 + 0x3p-8, inf, -inf, nan}
}

// wide is how many elements a vector of edges has: whole vectors of every width,
// and a tail.
const wide = 47

// dtypes are those of native code.
var dtypes = []ir.DType{ir.Bool, ir.I32, ir.F16, ir.BF16, ir.F32}

// edgeModule has every elementwise operation on every dtype that it takes: of x,
// a vector of edges, or of each x with y, along which vectors go.
func edgeModule() *ir.Module {
	f := &ir.Func{Name: "f", Class: ir.Entry}
	b := op.Builder{F: f}
	type pair struct{ x, y, z *ir.Value }
	in := map[ir.DType]pair{}
	for _, d := range dtypes {
		arg := func(name, axis string) *ir.Value {
			return f.AddArg(ir.Type{DType: d, Axes: []ir.Axis{{Name: axis, Size: wide}}}, ir.RoleData, name+d.String(), nil, diag.Pos{})
		}
		in[d] = pair{arg("x", "x"), arg("y", "y"), arg("z", "x")}
	}
	add := func(name string, attrs ir.Attrs, args ...*ir.Value) {
		v, err := b.TryEmit(name, args, attrs)
		if err == nil {
			f.Results = append(f.Results, ir.Result{Value: v[0], Role: ir.RoleGrad, Path: fmt.Sprint("r", len(f.Results))})
		}
	}
	for _, d := range op.All() {
		if d.Class != op.Elementwise {
			continue
		}
		for _, t := range dtypes {
			p := in[t]
			switch {
			case d.Name == "cast":
				for _, to := range dtypes {
					add("cast", ir.A("to", ir.Name(to.String())), p.x)
				}
			case d.Name == "select":
				add("select", nil, in[ir.Bool].x, p.x, p.z)
			case d.MaxArgs == 1:
				add(d.Name, nil, p.x)
			default:
				add(d.Name, nil, p.x, p.y)
			}
		}
	}
	return &ir.Module{Name: "edges", Level: ir.Local, Funcs: []*ir.Func{f}}
}

// reductionModule reduces matrices along rows and columns, long and short ones.
func reductionModule() *ir.Module {
	f := &ir.Func{Name: "f", Class: ir.Entry}
	b := op.Builder{F: f}
	for _, d := range []ir.DType{ir.I32, ir.F32, ir.BF16} {
		for _, n := range []int{3, 13, 150} {
			x := f.AddArg(ir.Type{DType: d, Axes: []ir.Axis{{Name: "a", Size: 7}, {Name: "b", Size: n}}}, ir.RoleData, fmt.Sprint(d, n), nil, diag.Pos{})
			for _, name := range []string{"reduce_max", "reduce_sum"} {
				if d == ir.BF16 && name == "reduce_sum" {
					continue // rounds each sum, in its own order
				}
				for _, over := range []ir.Names{{"a"}, {"b"}, {"a", "b"}} {
					v := b.Emit(name, ir.A("over", over), x)
					f.Results = append(f.Results, ir.Result{Value: v, Role: ir.RoleGrad, Path: fmt.Sprint("r", len(f.Results))})
				}
			}
		}
	}
	return &ir.Module{Name: "reductions", Level: ir.Local, Funcs: []*ir.Func{f}}
}

// TestEdges runs every elementwise operation on edges, natively for each width of
// vectors that this processor has, and by the reference: the same bits, but for
// functions that are approximated, which are within their bound, and exact where
// the result is special.
func TestEdges(t *testing.T) {
	m := edgeModule()
	everyVector(t, m, func(t *testing.T, e *edgeRun) {
		for turn := 0; turn < wide; turn += 10 { // each edge comes into the tail
			e.fill(func(name string, d ir.DType, i int) float64 {
				all := edges(d)
				k := i + turn
				if name[0] != 'x' {
					k = 3*i + 2*turn
				}
				return all[k%len(all)]
			})
			e.compare(t)
		}
	})
}

// TestReductionsOfEdges: maxima and sums of infinities, NaN and zeros of both
// signs, and of numbers whose sums are exact or wrap around.
func TestReductionsOfEdges(t *testing.T) {
	inf := math.Inf(1)
	everyVector(t, reductionModule(), func(t *testing.T, e *edgeRun) {
		for seed, from := range [][]float64{
			{0, math.Copysign(0, -1)}, {math.Copysign(0, -1)}, {1, 2, -3, 5}, {-inf}, {inf, 1, 0}, {-inf, 1}, {-inf, inf, 1},
			{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, math.NaN()}, {-inf, -inf, -inf, -inf, inf, math.NaN()},
		} {
			r := rand.New(rand.NewSource(int64(seed)))
			e.fill(func(_ string, d ir.DType, _ int) float64 {
				if d == ir.I32 {
					all := edges(d)
					return all[r.Intn(len(all))]
				}
				return from[r.Intn(len(from))]
			})
			e.compare(t)
		}
	})
}

// edgeRun is a module compiled for a target and for the reference, each with its
// memory.
type edgeRun struct {
	p, q       *program.Plan
	mem, arena []byte
	team       *native.Team
	run        *native.Program
	ref        host.Kernels
}

// everyVector calls f with m compiled for each target of this processor.
func everyVector(t *testing.T, m *ir.Module, f func(t *testing.T, e *edgeRun)) {
	if _, err := llvm.Load(); err != nil {
		if os.Getenv(llvm.EnvLLVM) == "none" {
			t.Skip("PTC_LLVM=none: native code is not made here, ref stands in")
		}
		t.Fatal(err)
	}
	for _, target := range vectors(t) {
		t.Run(target, func(t *testing.T) { f(t, newEdgeRun(t, m, target)) })
	}
}

// runnable are the vectors that were found.
var runnable []string

// vectors are the targets of this processor's architecture that it can run, by
// what the smallest plan for each needs.
func vectors(t *testing.T) []string {
	t.Helper()
	if runnable != nil {
		return runnable
	}
	f := &ir.Func{Name: "f", Class: ir.Entry}
	b := op.Builder{F: f}
	x := f.AddArg(ir.Type{DType: ir.F32, Axes: []ir.Axis{{Name: "x", Size: wide}}}, ir.RoleData, "x", nil, diag.Pos{})
	f.Results = []ir.Result{{Value: b.Emit("exp", nil, x), Role: ir.RoleGrad, Path: "r"}}
	m := &ir.Module{Name: "probe", Level: ir.Local, Funcs: []*ir.Func{f}}
	all := []string{"cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4", "cpu:x86-64-v4+avx512bf16", "cpu:x86-64-v4+amx", "cpu:arm64", "cpu:arm64+bf16", "cpu:neoverse-v2"}
	var out []string
	for _, name := range all {
		if native.Supported(planOf(t, m, name).Features) == nil {
			out = append(out, name)
		}
	}
	if len(out) == 0 {
		t.Fatalf("none of %v runs here", all)
	}
	runnable = out
	return out
}

func newEdgeRun(t *testing.T, m *ir.Module, target string) *edgeRun {
	t.Helper()
	e := &edgeRun{p: planOf(t, m, target), q: planOf(t, m, "ref")}
	d := &e.p.Devices[0]
	mem, free, err := native.Alloc(int(d.Arena))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(free)
	e.mem, e.arena = mem, make([]byte, d.Arena)
	if e.ref, err = ref.Load(device.Request{Plan: e.q, Device: &e.q.Devices[0], Threads: 1}, e.arena); err != nil {
		t.Fatal(err)
	}
	if e.team, err = native.NewTeam(2); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.team.Close)
	var objects [][]byte
	for _, c := range e.p.Code {
		objects = append(objects, c.Data)
	}
	img, err := native.Load(objects...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { img.Close() })
	e.run = capture(t, e.p, d, &d.Progs[0], img, mem)
	t.Cleanup(e.run.Close)
	return e
}

// fill gives every input its numbers.
func (e *edgeRun) fill(number func(name string, d ir.DType, i int) float64) {
	d := &e.p.Devices[0]
	for _, x := range d.Ports {
		if x.Role == program.RoleData {
			b := d.Buffers[x.Buffer]
			v := tensor.New(typeOf(b))
			for i := range v.Data {
				v.Data[i] = number(x.Path, v.Type.DType, i)
			}
			v.Put(e.arena[b.Offset:])
		}
	}
}

// compare runs each instruction on both and compares what it writes.
func (e *edgeRun) compare(t *testing.T) {
	t.Helper()
	d := &e.p.Devices[0]
	for i, in := range d.Progs[0].Instrs {
		copy(e.mem, e.arena)
		if err := e.team.Replay(e.run, i, i+1); err != nil {
			t.Fatal(err)
		}
		if err := e.ref.Replay(0, i, i+1); err != nil {
			t.Fatal(err)
		}
		k := e.p.Kernels[in.Kernel]
		for j, n := range in.Bufs {
			if !k.Args[j].Write {
				continue
			}
			b := d.Buffers[n]
			u, v := tensor.New(typeOf(b)), tensor.New(typeOf(b))
			u.Get(e.mem[b.Offset:])
			v.Get(e.arena[b.Offset:])
			for at, w := range v.Data {
				if !sameNumber(u.Data[at], w) && !(approximated(k.IR) && nearby(v.Type.DType, u.Data[at], w)) {
					t.Fatalf("%s: element %d is %v, reference %v\noperands %s\n%s", k.Name, at, u.Data[at], w, e.operands(in.Bufs, k, at), k.IR)
				}
			}
		}
	}
}

// operands are what element at was made of.
func (e *edgeRun) operands(bufs []int, k program.Kernel, at int) string {
	var out []string
	for j, n := range bufs {
		b := e.p.Devices[0].Buffers[n]
		if k.Args[j].Write {
			continue
		}
		v := tensor.New(typeOf(b))
		v.Get(e.arena[b.Offset:])
		out = append(out, fmt.Sprintf("%v or %v", v.Data[at/wide%len(v.Data)], v.Data[at%wide%len(v.Data)]))
	}
	return strings.Join(out, "; ")
}

// sameNumber: the same bits, or both NaN, of which bits say nothing.
func sameNumber(x, y float64) bool {
	return math.Float64bits(x) == math.Float64bits(y) || x != x && y != y
}

// approximated reports whether a kernel has an operation whose native form is not rounded once.
func approximated(text string) bool {
	return slices.ContainsFunc(op.All(), func(d *op.Def) bool {
		return d.Class == op.Elementwise && strings.Contains(text, "= "+d.Name+" ") && roundings(d) > 1
	})
}

// roundings is how often the form of d, of f32, rounds; a function that native code approximates counts as two.
func roundings(d *op.Def) (n int) {
	b := kernel.Stream(func(s *kernel.Stmt) {
		switch s.Op {
		case kernel.OpMath:
			if s.Math != vmath.Mod {
				n += 2
			}
		case kernel.OpAdd, kernel.OpSub, kernel.OpMul, kernel.OpDiv, kernel.OpSqrt, kernel.OpFMA, kernel.OpMulAdd:
			n++
		}
	}, nil)
	o := &tile.Op{Kind: tile.Kind(d.Name), Results: []*tile.Value{{Type: tile.Type{DType: ir.F32}}}}
	var x []*kernel.Value
	for range d.MaxArgs {
		o.Args = append(o.Args, &tile.Value{Type: tile.Type{DType: ir.F32}})
		x = append(x, b.Fresh(kernel.Scalar(kernel.F32)))
	}
	elementwise.Compute(b, o, x)
	return n
}

// nearby: within the bound of approximations, and the same where the result is
// a zero, an infinity or NaN. In f16 and bf16 that is at most the next number.
func nearby(d ir.DType, got, want float64) bool {
	if want == 0 || want-want != 0 || got-got != 0 {
		return false
	}
	bits, least, ulps := 24, -149, vmath.Bound
	switch d {
	case ir.F16:
		bits, least, ulps = 11, -24, 1
	case ir.BF16:
		bits, least, ulps = 8, -133, 1
	}
	_, e := math.Frexp(want)
	return math.Abs(got-want) <= ulps*math.Ldexp(1, max(e-bits, least))
}
