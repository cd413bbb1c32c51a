package op_test

import (
	"fmt"
	"math/rand"
	"testing"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

// TestGradients compares, element by element, the gradient that a row emits
// with central differences of sum(w * result) for random weights w.
func TestGradients(t *testing.T) {
	keep := func(d *op.Def) bool { return alone(d) && d.Grad != nil }
	cases(t, 60, keep, func(t *testing.T, d *op.Def, e op.Example) {
		m, f, o := single(t, d, e)
		w := weights(o.Result().Type)
		g := gradientFunc(d, o, e)
		got := run(t, m, g.f, append(cloneAll(e.Args), w), eval.Options{Exact: true})
		for i, a := range e.Args {
			if !a.Type.DType.IsFloat() || !o.Result().Type.DType.IsFloat() {
				if g.of[i] >= 0 {
					t.Errorf("operand %d of %s has a gradient", i, a.Type)
				}
				continue
			}
			if g.of[i] < 0 { // zero
				for _, x := range differences(t, m, f, e.Args, i, w).Data {
					if x != 0 {
						t.Fatalf("no gradient for operand %d, on which the result depends", i)
					}
				}
				continue
			}
			have := got[g.of[i]]
			if !have.Type.Equal(a.Type) {
				t.Errorf("the gradient of operand %d is %s, the operand %s", i, have.Type, a.Type)
				continue
			}
			want := differences(t, m, f, e.Args, i, w)
			if diff := tensor.RelDiff(want, have); diff > 1e-6 {
				t.Errorf("operand %d: relative difference %.3g\ndifferences %v\n   gradient %v", i, diff, want.Data, have.Data)
			}
		}
	})
}

// TestNoGradientMeansConstant holds that an operation without a gradient is
// constant around random points.
func TestNoGradientMeansConstant(t *testing.T) {
	keep := func(d *op.Def) bool {
		return alone(d) && d.Grad == nil && d.Name != "detach" && d.Class != op.Placement
	}
	cases(t, 20, keep, func(t *testing.T, d *op.Def, e op.Example) {
		m, f, o := single(t, d, e)
		w := weights(o.Result().Type)
		if !o.Result().Type.DType.IsFloat() {
			return
		}
		for i, a := range e.Args {
			if a.Type.DType.IsFloat() {
				for _, v := range differences(t, m, f, e.Args, i, w).Data {
					if v != 0 {
						t.Errorf("operand %d moves the result by %g", i, v)
					}
				}
			}
		}
	})
}

type gradFunc struct {
	f  *ir.Func
	of []int // result of f that is operand i's gradient, or -1
}

// gradientFunc is a function from the operands and the result's gradient to
// the operands' gradients.
func gradientFunc(d *op.Def, o *ir.Op, e op.Example) gradFunc {
	g := gradFunc{f: &ir.Func{Name: "grad"}}
	b := &op.Builder{F: g.f}
	var args []*ir.Value
	for i, a := range e.Args {
		args = append(args, g.f.AddArg(a.Type, ir.RoleData, fmt.Sprint("a", i), nil, b.Pos))
	}
	w := g.f.AddArg(o.Result().Type, ir.RoleData, "w", nil, b.Pos)
	b.Emit(d.Name, e.Attrs, args...)
	for _, r := range d.Grad(b, g.f.Ops[0], []*ir.Value{w}) {
		if r == nil {
			g.of = append(g.of, -1)
			continue
		}
		g.of = append(g.of, len(g.f.Results))
		g.f.Results = append(g.f.Results, ir.Result{Value: r, Role: ir.RoleOut})
	}
	return g
}

func weights(t ir.Type) *tensor.Tensor {
	r := rand.New(rand.NewSource(99))
	w := tensor.New(t)
	for i := range w.Data {
		w.Data[i] = 0.5 + r.Float64()
	}
	return w
}

// differences is the gradient of sum(w * f(args)) for operand i.
func differences(t *testing.T, m *ir.Module, f *ir.Func, args []*tensor.Tensor, i int, w *tensor.Tensor) *tensor.Tensor {
	const h = 1e-5
	out := tensor.New(args[i].Type)
	at := func(k int, by float64) *tensor.Tensor {
		moved := append([]*tensor.Tensor(nil), args...)
		moved[i] = args[i].Clone()
		moved[i].Data[k] += by
		return run(t, m, f, moved, eval.Options{Exact: true})[0]
	}
	for k := range out.Data {
		up, down := at(k, h), at(k, -h)
		for j, v := range w.Data {
			out.Data[k] += v * (up.Data[j] - down.Data[j]) / (2 * h)
		}
	}
	return out
}

// TestTies holds what the documentation says of gradients at ties.
func TestTies(t *testing.T) {
	x := &tensor.Tensor{Type: typ(ir.F32, "a", 4), Data: []float64{3, 1, 3, 3}}
	for _, c := range []struct {
		name  string
		attrs ir.Attrs
		args  []*tensor.Tensor
		w     *tensor.Tensor
		want  [][]float64
	}{
		{"max", nil, []*tensor.Tensor{x, x}, &tensor.Tensor{Type: x.Type, Data: []float64{1, 2, 3, 4}}, [][]float64{{0.5, 1, 1.5, 2}, {0.5, 1, 1.5, 2}}},
		{"min", nil, []*tensor.Tensor{x, x}, &tensor.Tensor{Type: x.Type, Data: []float64{1, 2, 3, 4}}, [][]float64{{0.5, 1, 1.5, 2}, {0.5, 1, 1.5, 2}}},
		{"reduce_max", ir.A("over", ir.Names{"a"}), []*tensor.Tensor{x}, tensor.Scalar(ir.F32, 6), [][]float64{{2, 0, 2, 2}}},
		{"abs", nil, []*tensor.Tensor{tensor.Scalar(ir.F32, 0)}, tensor.Scalar(ir.F32, 5), [][]float64{{0}}},
		{"pow", nil, []*tensor.Tensor{tensor.Scalar(ir.F32, 0), tensor.Scalar(ir.F32, 2)}, tensor.Scalar(ir.F32, 5), [][]float64{{0}, {0}}},
	} {
		e := op.Example{Args: c.args, Attrs: c.attrs}
		m, _, o := single(t, op.Lookup(c.name), e)
		g := gradientFunc(op.Lookup(c.name), o, e)
		for i, got := range run(t, m, g.f, append(cloneAll(c.args), c.w), eval.Options{}) {
			if tensor.RelDiffOf(got.Data, c.want[i]) > 0 {
				t.Errorf("%s: operand %d has gradient %v, want %v", c.name, i, got.Data, c.want[i])
			}
		}
	}
}

// typ is a type of axes given as name, size pairs.
func typ(d ir.DType, axes ...any) ir.Type {
	t := ir.Type{DType: d}
	for i := 0; i < len(axes); i += 2 {
		t.Axes = append(t.Axes, ir.Axis{Name: axes[i].(string), Size: axes[i+1].(int)})
	}
	return t
}
