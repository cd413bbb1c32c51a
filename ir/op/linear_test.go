package op_test

import (
	"math/rand"
	"slices"
	"testing"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

// TestLinearIn: of each set of operands in which a row says that it is linear, the
// result of two terms, with the other operands given, is the sum of the results of
// each; and the states of a partial sum say so. No other operand may be
// partial.
func TestLinearIn(t *testing.T) {
	tried := map[string]int{}
	partial := []ir.Partial{{Mesh: "d", Reduce: "sum"}}
	cases(t, 20, alone, func(t *testing.T, d *op.Def, e op.Example) {
		m, f, o := single(t, d, e)
		if d.State != nil || slices.ContainsFunc(e.Args, func(a *tensor.Tensor) bool { return a.Type.DType == ir.F16 || a.Type.DType == ir.BF16 }) {
			return
		}
		free := map[int]bool{}
		for _, in := range op.LinearIn(o) {
			if slices.ContainsFunc(in, func(i int) bool { return !e.Args[i].Type.DType.IsFloat() }) {
				continue
			}
			tried[d.Name]++
			a, b := terms(e.Args, in)
			whole := run(t, m, f, e.Args, eval.Options{Exact: true})
			x, y := run(t, m, f, a, eval.Options{Exact: true}), run(t, m, f, b, eval.Options{Exact: true})
			for i := range x[0].Data {
				x[0].Data[i] += y[0].Data[i]
			}
			if diff, _ := eval.Worst(whole, x); diff > 1e-9 {
				t.Errorf("in operands %v: relative difference %.3g", in, diff)
			}
			for i := range o.Args {
				free[i] = free[i] || len(in) == 1 && in[0] == i
			}
			for _, i := range in {
				o.Args[i].Type.Partial = partial
			}
			if types, err := op.States(o); err != nil || !slices.Equal(types[0].Partial, partial) {
				t.Errorf("operands %v are partial: the result is %v, %v", in, types, err)
			}
			for _, i := range in {
				o.Args[i].Type.Partial = nil
			}
		}
		for i := range o.Args {
			o.Args[i].Type.Partial = partial
			if _, err := op.States(o); err == nil && !free[i] && len(o.Args[i].Type.Partial) > 0 && op.PartialOfFirst(o) == nil && e.Args[i].Type.DType.IsFloat() {
				t.Errorf("operand %d may be partial alone", i)
			}
			o.Args[i].Type.Partial = nil
		}
	})
	for _, n := range []string{"add", "sub", "mul", "div", "dot", "select", "gather", "scatter_add", "reduce_sum"} {
		if tried[n] < 5 {
			t.Errorf("%s: only %d sets of operands were tried", n, tried[n])
		}
	}
}

// terms are operands of which those of in add up to args.
func terms(args []*tensor.Tensor, in []int) (a, b []*tensor.Tensor) {
	r := rand.New(rand.NewSource(1))
	a, b = slices.Clone(args), slices.Clone(args)
	for _, i := range in {
		a[i], b[i] = tensor.New(args[i].Type), tensor.New(args[i].Type)
		for j, x := range args[i].Data {
			a[i].Data[j] = r.NormFloat64()
			b[i].Data[j] = x - a[i].Data[j]
		}
	}
	return a, b
}
