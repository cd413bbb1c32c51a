package lang

import (
	"fmt"
	"math"
	"math/rand"
	"slices"
	"testing"

	"ptc/internal/diag"
	"ptc/ir"
	evaluate "ptc/ir/eval"
	array "ptc/ir/tensor"
	"ptc/lang/eval"
	"ptc/lang/source"
	"ptc/lang/syntax"
	"ptc/lang/value"
	"ptc/stdlib"
)

// input is a named tensor for an expression under test.
type input struct {
	name string
	x    *array.Tensor
}

// arr makes a tensor: arr("seq", 4, "head", 2)(values...).
func arr(d ir.DType, axes ...any) func(vs ...float64) *array.Tensor {
	t := ir.Type{DType: d}
	for i := 0; i < len(axes); i += 2 {
		t.Axes = append(t.Axes, ir.Axis{Name: axes[i].(string), Size: axes[i+1].(int)})
	}
	return func(vs ...float64) *array.Tensor {
		x := array.New(t)
		copy(x.Data, vs)
		return x
	}
}

// noise fills a tensor with standard normal numbers.
func noise(seed int64, axes ...any) *array.Tensor {
	x := arr(ir.F32, axes...)()
	r := rand.New(rand.NewSource(seed))
	for i := range x.Data {
		x.Data[i] = r.NormFloat64()
	}
	return x
}

// compute evaluates an expression over inputs, in float64, with the
// declarations of src in scope. A model among them is an instance of that
// name; inputs that are called like its parameters are these.
func compute(t *testing.T, src, expr string, step int, inputs ...input) *array.Tensor {
	t.Helper()
	p, errs := source.Load("t.ptl", []byte("import std.nn\nimport std.optim\n"+src), nil, stdlib.Read)
	if len(errs) > 0 {
		t.Fatal(diag.Plain.Render(errs, p.Source))
	}
	ev := eval.New(p, nil)
	f := ev.NewFrame(p.Main)
	for _, d := range p.Main.Tree.Decls {
		if m, ok := d.(*syntax.Module); ok && m.Kind == "model" {
			f.Vars[m.Name.Name] = f.Instantiate(value.ModuleRef{Decl: m, File: p.Main}, nil, m.Name, "")
		}
	}
	fb := eval.NewBuilder("step", true)
	ev.Builder = fb
	fb.Func.Args = append(fb.Func.Args, &ir.Arg{Value: fb.Step, Role: ir.RoleStep}, &ir.Arg{Value: fb.Seed, Role: ir.RoleSeed})
	args := []*array.Tensor{array.Scalar(ir.I32, float64(step)), array.Scalar(ir.I32, 7)}
	for _, in := range inputs {
		if i := slices.IndexFunc(ev.Model.Params, func(q *value.Param) bool { return q.Path == in.name }); i >= 0 {
			q := ev.Model.Params[i]
			fb.Func.Args = append(fb.Func.Args, &ir.Arg{Value: fb.Param(q), Role: ir.RoleParam, Path: q.Path})
		} else {
			v := fb.Func.AddArg(in.x.Type, ir.RoleData, in.name, nil, diag.Pos{})
			f.Vars[in.name] = value.Tensor{V: v}
			f.Saw(in.x.Type)
		}
		args = append(args, in.x)
	}
	x, errs := syntax.ParseExpr("t.expr", expr)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	v := f.Expr(x)
	if c, ok := v.(value.Number); ok {
		v = f.ConstTensor(x, c, ir.F32)
	}
	w, ok := v.(value.Tensor)
	if !ok || len(ev.Errs.List) > 0 {
		t.Fatalf("%s: %s\n%s", expr, v.What(), diag.Plain.Render(ev.Errs.List, p.Source))
	}
	fb.Func.Results = []ir.Result{{Value: w.V, Role: ir.RoleStat, Path: "out"}}
	out, err := evaluate.Func(&ir.Module{Funcs: []*ir.Func{fb.Func}}, fb.Func, args, evaluate.Options{Exact: true})
	if err != nil {
		t.Fatal(err)
	}
	return out[0]
}

// near compares with a reference that is computed for each element from its
// coordinates by axis name.
func near(t *testing.T, what string, got *array.Tensor, want func(at map[string]int) float64) {
	t.Helper()
	each(got.Type, func(i int, at map[string]int) {
		if w := want(at); math.Abs(got.Data[i]-w) > 1e-9*(1+math.Abs(w)) {
			t.Fatalf("%s at %v is %.12g, the reference says %.12g", what, at, got.Data[i], w)
		}
	})
}

func each(typ ir.Type, visit func(i int, at map[string]int)) {
	strides := typ.Strides()
	for i := range typ.Elems() {
		at := map[string]int{}
		for k, a := range typ.Axes {
			at[a.Name] = i / strides[k] % a.Size
		}
		visit(i, at)
	}
}

// elem is the element at the coordinates that the tensor has; kv pairs
// override.
func elem(x *array.Tensor, at map[string]int, kv ...any) float64 {
	s, i := x.Type.Strides(), 0
	for k, a := range x.Type.Axes {
		c, ok := at[a.Name]
		for j := 0; j < len(kv); j += 2 {
			if kv[j] == a.Name {
				c, ok = kv[j+1].(int), true
			}
		}
		if !ok {
			panic(fmt.Sprintf("no coordinate for axis %s of %s", a.Name, x.Type))
		}
		i += c * s[k]
	}
	return x.Data[i]
}
