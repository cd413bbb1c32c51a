package check_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/tensor"
	"ptc/ir/verify"
	"ptc/passes/autodiff"
	"ptc/passes/check"
	"ptc/passes/pass"
	"ptc/passes/precision"
	"ptc/passes/simplify"
)

// model has a lookup, a detached value, a kink, an optimizer with a state, and
// a second entry function.
const model = `ptir 1 global "model"
meta precision(compute=bf16)

func @step class=entry
  arg %0 : f32[v=8, e=4] param "wte" init=normal(std=0.5)
  arg %1 : f32[e=4, f=6] param "w" init=normal(std=0.5)
  arg %2 : f32[f=6] param "b" init=zeros()
  arg %3 : f32[f=6] state "b/m" init=zeros()
  arg %4 : i32[n=3] data "tokens"
  arg %5 : i32[n=3] data "targets"
  %10 : f32[n=3, e=4] = gather %0, %4 axis=v
  %11 : f32[n=3, f=6] = dot %10, %1 over=(e)
  %12 : f32[n=3, f=6] = add %11, %2
  %13 : f32[] = const dtype=f32 value=0.0
  %14 : f32[n=3, f=6] = max %12, %13
  %15 : f32[n=3, f=6] = detach %12
  %16 : f32[n=3, f=6] = mul %14, %15
  %17 : i32[f=6] = index axis=f size=6
  %18 : bool[n=3, f=6] = eq %5, %17
  %19 : f32[n=3, f=6] = cast %18 to=f32
  %20 : f32[n=3, f=6] = sub %16, %19
  %21 : f32[n=3, f=6] = mul %20, %20
  %22 : f32[] = reduce_sum %21 over=(n, f)
  %23 : f32[v=8, e=4], %24 : f32[e=4, f=6], %25 : f32[f=6] = grad %22, %0, %1, %2
  %26 : f32[f=6] = add %3, %25
  %27 : f32[] = const dtype=f32 value=0.1
  %28 : f32[f=6] = mul %26, %27
  %29 : f32[f=6] = sub %2, %28
  result %22 loss
  result %23 grad "wte"
  result %24 grad "w"
  result %25 grad "b"
  result %29 param "b"
  result %26 state "b/m"
end

func @eval class=entry
  arg %0 : f32[v=8, e=4] param "wte" init=normal(std=0.5)
  arg %1 : i32[n=3] data "tokens"
  %2 : f32[n=3, e=4] = gather %0, %1 axis=v
  %3 : f32[] = reduce_sum %2 over=(n, e)
  result %3 loss
end
`

func parse(t *testing.T) *ir.Module {
	t.Helper()
	m, errs := ir.Parse("model.ptir", []byte(model))
	if len(errs) == 0 {
		errs = verify.Module(m)
	}
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return m
}

type named struct {
	name string
	run  pass.Func
}

var pipeline = []named{{"simplify", simplify.Run}, {"autodiff", autodiff.Run}, {"cleanup", simplify.Run}, {"precision", precision.Run}}

// run runs the pipeline under a checker; spoil, where set, changes the module
// after the pass named at.
func run(t *testing.T, at string, spoil func(m *ir.Module)) check.Report {
	t.Helper()
	m := parse(t)
	k := check.New(1)
	if err := k.Hook(0, "lower", m, 0); err != nil {
		t.Fatal(err)
	}
	for i, p := range pipeline {
		if err := p.run(&pass.Context{}, m); err != nil {
			t.Fatal(err)
		}
		if p.name == at {
			spoil(m)
		}
		if err := k.Hook(i+1, p.name, m, 0); err != nil {
			t.Fatal(err)
		}
	}
	return k.Report
}

func TestSoundPassesPass(t *testing.T) {
	r := run(t, "", nil)
	if bad := r.First(); bad != nil {
		t.Errorf("%+v", *bad)
	}
	if len(r.NotFinite) > 0 {
		t.Errorf("not finite: %v", r.NotFinite)
	}
	var kinds []string
	for _, row := range r.Rows {
		kinds = append(kinds, row.Pass+" "+row.Kind)
		if row.Compared == 0 || row.Worst == "" {
			t.Errorf("%s %s compared nothing", row.Pass, row.Kind)
		}
	}
	want := "simplify exact, autodiff gradient, autodiff exact, cleanup exact, precision exact, precision rounded"
	if got := strings.Join(kinds, ", "); got != want {
		t.Errorf("rows: %s\nwant: %s", got, want)
	}
	if last := r.Rows[len(r.Rows)-1]; last.Diff == 0 || last.Diff > 0.05 {
		t.Errorf("rounding to bf16 changes results by %v", last.Diff)
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// find is the last operation of @step with the name.
func find(t *testing.T, m *ir.Module, name string) *ir.Op {
	t.Helper()
	ops := m.Func("step").Ops
	for i := len(ops) - 1; i >= 0; i-- {
		if ops[i].Name == name {
			return ops[i]
		}
	}
	t.Fatalf("no %s in\n%s", name, ir.Print(m))
	return nil
}

// scale multiplies result i of @step by s.
func scale(m *ir.Module, role, path string, s float64) {
	f := m.Func("step")
	r := f.Result(role, path)
	b := op.Builder{F: f}
	r.Value = b.Scale(r.Value, s)
}

func TestBrokenPassesAreNamed(t *testing.T) {
	for what, c := range map[string]struct {
		at, kind, worst string
		spoil           func(m *ir.Module)
	}{
		"an exchanged subtraction": {"simplify", "exact", "@step param b", func(m *ir.Module) { swap(find(t, m, "sub")) }},
		"a constant of the optimizer": {"cleanup", "exact", "@step param b", func(m *ir.Module) {
			o := find(t, m, "mul")
			o.Args[1].Def.Attrs = o.Args[1].Def.Attrs.With("value", ir.Float(0.2))
		}},
		"the optimizer before autodiff": {"simplify", "exact", "@step state b/m", func(m *ir.Module) { scale(m, ir.RoleState, "b/m", 1.5) }},
		"a result of the other function": {"simplify", "exact", "@eval loss", func(m *ir.Module) {
			f := m.Func("eval")
			f.Results[0].Value = (&op.Builder{F: f}).Scale(f.Results[0].Value, 2)
		}},
		"one gradient":                {"autodiff", "gradient", "@step grad of w", func(m *ir.Module) { scale(m, ir.RoleGrad, "w", 1.001) }},
		"a gradient, little":          {"autodiff", "gradient", "@step grad of b", func(m *ir.Module) { scale(m, ir.RoleGrad, "b", 1.0001) }},
		"a result that is not finite": {"precision", "exact", "@step loss", func(m *ir.Module) { scale(m, ir.RoleLoss, "", math.Inf(1)) }},
	} {
		r := run(t, c.at, c.spoil)
		bad := r.First()
		if bad == nil {
			t.Errorf("%s: not found", what)
			continue
		}
		if bad.Pass != c.at || bad.Kind != c.kind || bad.Worst != c.worst {
			t.Errorf("%s: found %+v, want %s %s %s", what, *bad, c.at, c.kind, c.worst)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func swap(o *ir.Op) { o.Args[0], o.Args[1] = o.Args[1], o.Args[0] }

func TestInputs(t *testing.T) {
	m := parse(t)
	a, b := check.RandomInputs(m, 1), check.RandomInputs(m, 1)
	for k, x := range a {
		for i, v := range x.Data {
			if v != b[k].Data[i] {
				t.Fatalf("%s differs between two draws of one seed", k)
			}
			if k.Role == ir.RoleState && v < 0 {
				t.Errorf("%s has a negative element", k)
			}
			if float64(float32(v)) != v {
				t.Errorf("%s: %v is not a float32", k, v)
			}
		}
	}
	if c := check.RandomInputs(m, 2); c[check.Key{Role: ir.RoleParam, Path: "w"}].Data[0] == a[check.Key{Role: ir.RoleParam, Path: "w"}].Data[0] {
		t.Error("two seeds give the same parameters")
	}
	zeros := a[check.Key{Role: ir.RoleParam, Path: "b"}].Data
	if zeros[0] == 0 {
		t.Error("a parameter of zeros is not moved")
	}
	// tokens are looked up in v=8, targets compared with positions along f=6.
	for path, bound := range map[string]float64{"tokens": 8, "targets": 6} {
		most := 0.0
		for seed := int64(0); seed < 40; seed++ {
			for _, v := range check.RandomInputs(m, seed)[check.Key{Role: ir.RoleData, Path: path}].Data {
				most = math.Max(most, v)
			}
		}
		if most != bound-1 {
			t.Errorf("%s reach %v, want %v", path, most, bound-1)
		}
	}
}

// A gradient that is zero but for rounding must not count as a difference,
// while a small result of its own role must.
func TestNoiseIsNotADifference(t *testing.T) {
	x := func(a, b float64) check.Results {
		return check.Results{
			{Role: ir.RoleGrad, Path: "a"}: tensor.Scalar(ir.F32, a),
			{Role: ir.RoleGrad, Path: "b"}: tensor.Scalar(ir.F32, b),
		}
	}
	if _, d := check.Diff(x(1, 1e-17), x(1, -3e-17)); d > check.TolExact {
		t.Errorf("noise counts as %v", d)
	}
	if _, d := check.Diff(x(1, 1e-4), x(1, 1.001e-4)); d < 1e-4 {
		t.Errorf("a difference of a small result counts as %v", d)
	}
}

// With more parameters than directions, the one at fault is still named.
func TestOneOfManyGradients(t *testing.T) {
	t.Run("one direction each", func(t *testing.T) { oneOfMany(t, 1e9) })
	t.Run("groups", func(t *testing.T) { oneOfMany(t, 0) })
}

func oneOfMany(t *testing.T, budget int64) {
	f := &ir.Func{Name: "step", Class: ir.Entry}
	b := op.Builder{F: f}
	loss := b.Const(ir.F32, 0)
	var params []*ir.Value
	for i := range 20 {
		p := f.AddArg(ir.Type{DType: ir.F32, Axes: []ir.Axis{{Name: "a", Size: 3}}}, ir.RoleParam, fmt.Sprintf("p%02d", i), nil, b.Pos)
		params = append(params, p)
		loss = b.Add(loss, b.Sum(b.Mul(b.Emit("exp", nil, p), p), "a"))
	}
	grads, err := b.TryEmit("grad", append([]*ir.Value{loss}, params...), nil)
	if err != nil {
		t.Fatal(err)
	}
	f.Results = []ir.Result{{Value: loss, Role: ir.RoleLoss}}
	for i, g := range grads {
		f.Results = append(f.Results, ir.Result{Value: g, Role: ir.RoleGrad, Path: fmt.Sprintf("p%02d", i)})
	}
	m := &ir.Module{Name: "many", Funcs: []*ir.Func{f}}
	k := check.New(1)
	k.Budget = budget
	if err := k.Hook(0, "lower", m, 0); err != nil {
		t.Fatal(err)
	}
	if err := autodiff.Run(&pass.Context{}, m); err != nil {
		t.Fatal(err)
	}
	scale(m, ir.RoleGrad, "p13", 0.99)
	if err := k.Hook(1, "autodiff", m, 0); err != nil {
		t.Fatal(err)
	}
	if bad := k.Report.First(); bad == nil || bad.Worst != "@step grad of p13" {
		t.Errorf("found %+v", bad)
	}
}

func TestNotFiniteIsSaid(t *testing.T) {
	m := parse(t)
	scale(m, ir.RoleLoss, "", math.Inf(1))
	k := check.New(1)
	if err := k.Hook(0, "lower", m, 0); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(k.Report.NotFinite, ", "); got != "@step loss" {
		t.Errorf("not finite: %s", got)
	}
}
