package passtest

import (
	"fmt"
	"math/rand"

	"ptc/internal/diag"
	"ptc/ir"
	"ptc/ir/op"
)

// axes are those of random modules, with alternatives for renaming.
var axes = []ir.Axis{{Name: "a", Size: 2}, {Name: "b", Size: 3}, {Name: "c", Size: 4}, {Name: "x", Size: 2}, {Name: "y", Size: 3}}

// RandomModule is a module of one function of about n operations. Operations
// are such that results stay finite and do not jump: the order of sums may
// change, but nothing else.
func RandomModule(r *rand.Rand, n int) *ir.Module {
	f := &ir.Func{Name: "f", Class: ir.Entry}
	g := &generator{r: r, b: op.Builder{F: f}}
	for i := range 3 {
		path := string(rune('p' + i))
		g.pool = append(g.pool, f.AddArg(g.someType(ir.F32), ir.RoleData, path, nil, diag.Pos{}))
	}
	for len(f.Ops) < n {
		g.grow()
	}
	sum := g.b.Const(ir.F32, 0)
	for _, v := range g.pool[len(g.pool)/2:] {
		sum = g.b.Add(sum, g.b.Sum(g.b.Emit(op.Tanh, nil, v), v.Type.Names()...))
	}
	f.Results = []ir.Result{{Value: sum, Role: ir.RoleLoss}}
	for i, v := range g.pool[len(g.pool)-4:] {
		f.Results = append(f.Results, ir.Result{Value: v, Role: ir.RoleGrad, Path: string(rune('a' + i))})
	}
	return &ir.Module{Name: "random", Funcs: []*ir.Func{f}}
}

// RandomReductions is a module of one function of about n operations, all
// elementwise or reductions: values over few axes, which reductions give or which
// come so, meet values over many and are reduced again. Many of all kinds are
// results, as optimizer states are, so that kernels store what they also use.
func RandomReductions(r *rand.Rand, n int) *ir.Module {
	f := &ir.Func{Name: "f", Class: ir.Entry}
	g := &generator{r: r, b: op.Builder{F: f}}
	for i, of := range [][]int{{0, 1}, {2, 1, 0}, {0}, {1}, {1}, {2}, {}} {
		t := ir.Type{DType: ir.F32}
		for _, a := range of {
			t.Axes = append(t.Axes, axes[a])
		}
		g.pool = append(g.pool, f.AddArg(t, ir.RoleData, string(rune('p'+i)), nil, diag.Pos{}))
	}
	for tries := 0; len(f.Ops) < n && tries < 20*n; tries++ {
		g.mix()
	}
	for i, v := range g.pool {
		if v.Def != nil && (r.Intn(3) == 0 || i == len(g.pool)-1) {
			f.Results = append(f.Results, ir.Result{Value: v, Role: ir.RoleGrad, Path: fmt.Sprint("r", i)})
		}
	}
	return &ir.Module{Name: "random", Funcs: []*ir.Func{f}}
}

// mix adds an elementwise operation or a reduction; every other one reads the
// latest value.
func (g *generator) mix() {
	x, y := g.value(), g.value()
	if g.r.Intn(2) == 0 {
		x = g.pool[len(g.pool)-1]
	}
	var v *ir.Value
	switch k := g.r.Intn(8); {
	case k < 4:
		v = g.try(g.one(op.Add, op.Sub, op.Mul, op.Max, op.Div), nil, x, g.b.Emit(op.Tanh, nil, y))
		if v != nil && v.Def.Name == op.Div { // by what is not near 0
			v = g.try(op.Div, nil, x, g.b.Add(g.b.Const(ir.F32, 2), v.Def.Args[1]))
		}
	case k < 5:
		v = g.try(g.one(op.Neg, op.Tanh, op.Sigmoid, op.Sin), nil, x)
	case len(x.Type.Axes) > 0:
		over := g.some(x)
		if len(over) == 0 {
			return
		}
		v = g.try(g.one(op.ReduceSum, op.ReduceSum, op.ReduceMax), ir.A("over", ir.Names(over)), x)
	}
	if v == nil {
		return
	}
	if v.Def.Name != op.ReduceMax && g.r.Intn(3) == 0 {
		v = g.b.Emit(op.Tanh, nil, v) // keeps sizes bounded
	}
	g.pool = append(g.pool, v)
}

// generator holds the float values to read from.
type generator struct {
	r    *rand.Rand
	b    op.Builder
	pool []*ir.Value
}

func (g *generator) someType(d ir.DType) ir.Type {
	t := ir.Type{DType: d}
	for _, i := range g.r.Perm(3)[:g.r.Intn(4)] {
		t.Axes = append(t.Axes, axes[i])
	}
	return t
}

func (g *generator) value() *ir.Value { return g.pool[g.r.Intn(len(g.pool))] }

func (g *generator) one(names ...string) string { return names[g.r.Intn(len(names))] }

func (g *generator) constant() *ir.Value {
	return g.b.Const(ir.F32, []float64{0, 1, -1, 2, 0.5, 3, -0.25}[g.r.Intn(7)])
}

// grow adds an operation or two; one that inference refuses adds nothing.
func (g *generator) grow() {
	x := g.value()
	var v *ir.Value
	switch g.r.Intn(12) {
	case 0, 1:
		v = g.try(g.one(op.Neg, op.Abs, op.Tanh, op.Sigmoid, op.Sin, op.Erf, op.Neg, op.Detach), nil, x)
	case 2, 3:
		v = g.try(g.one(op.Add, op.Sub, op.Mul, op.Max, op.Min), nil, x, g.value())
	case 4, 5:
		args := []*ir.Value{x, g.constant()}
		if g.r.Intn(2) == 0 {
			args[0], args[1] = args[1], args[0]
		}
		v = g.try(g.one(op.Add, op.Sub, op.Mul, op.Max), nil, args...)
	case 6:
		v = g.try(g.one(op.Div, op.Pow), nil, x, g.b.Const(ir.F32, float64(1+g.r.Intn(3))))
	case 7:
		v = g.move(x)
	case 8:
		v = g.try(g.one(op.ReduceSum, op.ReduceMax), ir.A("over", ir.Names(g.some(x))), x)
	case 9:
		v = g.try(op.Select, nil, g.b.Emit(g.one(op.Lt, op.Ge), nil, x, g.constant()), g.value(), g.value())
	case 10:
		y := g.value()
		v = g.try(op.Dot, ir.A("over", ir.Names(g.shared(x, y))), x, y)
	case 11:
		v = g.try(op.Cast, ir.A("to", ir.Name("f32")), g.b.Cast(x, ir.F64))
	}
	if v == nil || v.Type.Rank() > 4 {
		return
	}
	if v.Type.Elems() > 1 && g.r.Intn(3) == 0 {
		v = g.b.Emit(op.Tanh, nil, v) // keeps sizes bounded
	}
	g.pool = append(g.pool, v)
}

func (g *generator) try(name string, attrs ir.Attrs, args ...*ir.Value) *ir.Value {
	v, err := g.b.TryEmit(name, args, attrs)
	if err != nil {
		return nil
	}
	return v[0]
}

// move permutes, renames, repeats, splits or merges axes.
func (g *generator) move(x *ir.Value) *ir.Value {
	names := x.Type.Names()
	switch g.r.Intn(4) {
	case 0:
		order := make(ir.Names, len(names))
		for i, j := range g.r.Perm(len(names)) {
			order[i] = names[j]
		}
		return g.try(op.Transpose, ir.A("order", order), x)
	case 1:
		to := map[string]string{"a": "x", "b": "y", "x": "a", "y": "b"}
		var pairs ir.Pairs
		for _, n := range names {
			if to[n] != "" && g.r.Intn(2) == 0 {
				pairs = append(pairs, ir.Pair{From: n, To: to[n]})
			}
		}
		return g.try(op.Rename, ir.A("axes", pairs), x)
	case 2:
		all := append([]ir.Axis(nil), x.Type.Axes...)
		for _, a := range axes[:3] {
			if !x.Type.Has(a.Name) && g.r.Intn(2) == 0 {
				all = append(all, a)
			}
		}
		s := make(ir.Sizes, len(all))
		for i, j := range g.r.Perm(len(all)) {
			s[i] = ir.SizeOf{Name: all[j].Name, N: all[j].Size}
		}
		return g.try(op.Broadcast, ir.A("axes", s), x)
	}
	if !x.Type.Has("c") {
		return nil
	}
	s := g.try(op.Split, ir.A("axis", ir.Name("c"), "into", ir.Sizes{{Name: "u", N: 2}, {Name: "v", N: 2}}), x)
	return g.try(op.Merge, ir.A("axes", ir.Names{"u", "v"}, "into", ir.Name("c")), s)
}

// some is a random part of x's axes.
func (g *generator) some(x *ir.Value) []string {
	out := []string{}
	for _, n := range x.Type.Names() {
		if g.r.Intn(2) == 0 {
			out = append(out, n)
		}
	}
	return out
}

func (g *generator) shared(x, y *ir.Value) []string {
	out := []string{}
	for _, n := range x.Type.Names() {
		if y.Type.Has(n) && g.r.Intn(3) > 0 {
			out = append(out, n)
		}
	}
	return out
}
