package autodiff

import (
	"fmt"
	"math"
	"math/rand"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/op"
	"ptc/ir/tensor"
	"ptc/ir/verify"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// The archives show what is emitted; each gradient is also compared with
// differences of the loss along random directions.
func TestGolden(t *testing.T) { passtest.Golden(t, "testdata/*.txtar", Run, nil) }

// Functions that chain samples of all differentiable rows have the gradients
// that central differences of every element give.
func TestRandomFunctions(t *testing.T) {
	var rows []*op.Def
	for _, d := range op.All() {
		if d.Grad != nil && d.Class != op.Collective && d.Class != op.Boundary && d.Class != op.Symbolic {
			rows = append(rows, d)
		}
	}
	if len(rows) < 25 {
		t.Fatalf("only %d differentiable rows", len(rows))
	}
	r := rand.New(rand.NewSource(1))
	for i := range 3 * len(rows) {
		// Each row opens three chains, followed by others at random.
		chain := []*op.Def{rows[i%len(rows)], rows[r.Intn(len(rows))], rows[r.Intn(len(rows))]}
		names := fmt.Sprintf("%s %s %s", chain[0].Name, chain[1].Name, chain[2].Name)
		m, args := sampleChain(r, chain)
		if errs := verify.Module(m); len(errs) > 0 {
			t.Fatalf("%s: %v", names, errs)
		}
		sameGradients(t, names, m, args)
	}
}

// sampleChain is a loss over a chain of sampled operations. Each float operand
// is a parameter moved a little by the result before, so that gradients flow
// through the whole chain and operands stay where their row samples them.
func sampleChain(r *rand.Rand, rows []*op.Def) (*ir.Module, []*tensor.Tensor) {
	f := &ir.Func{Name: "step", Class: ir.Entry}
	b := &op.Builder{F: f}
	var params []*ir.Value
	var args []*tensor.Tensor
	arg := func(x *tensor.Tensor, role string) *ir.Value {
		v := f.AddArg(x.Type, role, fmt.Sprintf("p%02d", len(args)), nil, diag.Pos{})
		args = append(args, x)
		return v
	}
	first := arg(tensor.Scalar(ir.F32, 0.5), ir.RoleParam)
	params = append(params, first)
	last := b.Mul(first, first)
	loss := last
	for _, d := range rows {
		ex := d.Sample(r)
		in := make([]*ir.Value, len(ex.Args))
		for i, x := range ex.Args {
			if !x.Type.DType.IsFloat() {
				in[i] = arg(x, ir.RoleData)
				continue
			}
			in[i] = arg(x, ir.RoleParam)
			params = append(params, in[i])
			in[i] = b.Add(in[i], b.Scale(b.Emit("tanh", nil, b.Cast(last, x.Type.DType)), 0.01))
		}
		res, err := b.TryEmit(d.Name, in, ex.Attrs)
		if err != nil {
			panic(err)
		}
		for _, v := range res {
			if !v.Type.DType.IsFloat() {
				continue
			}
			w := tensor.New(v.Type)
			for i := range w.Data {
				w.Data[i] = r.NormFloat64()
			}
			y := b.Mul(v, arg(w, ir.RoleData))
			last = b.Cast(b.Sum(y, y.Type.Names()...), ir.F32)
			loss = b.Add(loss, last)
		}
	}
	grads, err := b.TryEmit("grad", append([]*ir.Value{loss}, params...), nil)
	if err != nil {
		panic(err)
	}
	f.Results = []ir.Result{{Value: loss, Role: ir.RoleLoss}}
	for i, g := range grads {
		f.Results = append(f.Results, ir.Result{Value: g, Role: ir.RoleGrad, Path: fmt.Sprint(i)})
	}
	return &ir.Module{Name: "sample", Funcs: []*ir.Func{f}}, args
}

// sameGradients compares with the evaluator's differences of every element.
func sameGradients(t *testing.T, name string, m *ir.Module, args []*tensor.Tensor) {
	t.Helper()
	after := m.Clone()
	if err := Run(&pass.Context{}, after); err != nil {
		t.Fatal(err)
	}
	if errs := verify.Module(after); len(errs) > 0 {
		t.Fatalf("%s: %v", name, errs)
	}
	for _, o := range after.Funcs[0].Ops {
		if op.Of(o).Class == op.Symbolic {
			t.Fatalf("%s: a gradient is left", name)
		}
	}
	compare(t, name, m, after, args)
}

// compare executes what is differentiated by differences and by operations.
func compare(t *testing.T, name string, m, after *ir.Module, args []*tensor.Tensor) {
	t.Helper()
	want, err := eval.Func(m, m.Funcs[0], args, eval.Options{Exact: true})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	got, err := eval.Func(after, after.Funcs[0], args, eval.Options{Exact: true})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for i := range want {
		if d := distance(want[i].Data, got[i].Data); !(d < 1e-6) {
			t.Errorf("%s: result %d differs by %.2g:\n%v\n%v", name, i, d, want[i].Data, got[i].Data)
		}
	}
}

// distance is relative to the norm, and absolute below 1e-3.
func distance(a, b []float64) float64 {
	diff, norm := 0.0, 1e-6
	for i := range a {
		diff += (a[i] - b[i]) * (a[i] - b[i])
		norm += a[i] * a[i]
	}
	return math.Sqrt(diff / norm)
}

// A gradient of something that reads a gradient differentiates the latter's
// operations: d/dx sum((d/dx sum(x^3))^2) = 36 x^3.
func TestGradientOfGradient(t *testing.T) {
	f := &ir.Func{Name: "step", Class: ir.Entry}
	b := &op.Builder{F: f}
	x := f.AddArg(ir.Type{DType: ir.F32, Axes: []ir.Axis{{Name: "a", Size: 3}}}, ir.RoleParam, "x", nil, diag.Pos{})
	g := b.Emit("grad", nil, b.Sum(b.Mul(b.Mul(x, x), x), "a"), x)
	h := b.Emit("grad", nil, b.Sum(b.Mul(g, g), "a"), x)
	f.Results = []ir.Result{{Value: h, Role: ir.RoleGrad, Path: "x"}}
	m := &ir.Module{Name: "twice", Funcs: []*ir.Func{f}}
	if err := Run(&pass.Context{}, m); err != nil {
		t.Fatal(err)
	}
	in := &tensor.Tensor{Type: x.Type, Data: []float64{1, -2, 0.5}}
	res, err := eval.Func(m, f, []*tensor.Tensor{in}, eval.Options{Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range in.Data {
		if want := 36 * v * v * v; math.Abs(res[0].Data[i]-want) > 1e-12 {
			t.Errorf("at %v: %v, want %v", v, res[0].Data[i], want)
		}
	}
}

// Emitted operations carry the scope and position of what they differentiate.
func TestScopes(t *testing.T) {
	m := passtest.Parse(t, `ptir 1 global "scopes"

func @step class=entry
  arg %0 : f32[a=2] param "w"
  %1 : f32[a=2] = sin %0 // inner s.ptl:1:1
  %2 : f32[a=2] = exp %1 // outer s.ptl:2:1
  %3 : f32[] = reduce_sum %2 over=(a) // outer s.ptl:2:1
  %4 : f32[a=2] = grad %3, %0 // s.ptl:9:9
  result %4 grad "w"
end
`)
	if err := Run(&pass.Context{}, m); err != nil {
		t.Fatal(err)
	}
	at := map[string]string{}
	for _, o := range m.Funcs[0].Ops[3:] {
		at[o.Name] = o.Scope + " " + o.Pos.String()
	}
	if at["cos"] != "inner s.ptl:1:1" || at["broadcast"] != "outer s.ptl:2:1" || at["const"] != " s.ptl:9:9" {
		t.Errorf("scopes of the gradient: %v", at)
	}
}
