package op_test

import (
	"math"
	"testing"

	"ptc/ir"
	"ptc/ir/op"
)

// TestWork: products and sums that leave 64 bits do not wrap.
func TestWork(t *testing.T) {
	for _, c := range []struct {
		tokens, times int
		want          float64
	}{
		{1 << 10, 3, 3 * 2 * math.Pow(2, 10+32)},
		{1 << 26, 1 << 10, 2 * math.Pow(2, 26+32+10)},
		{1 << 40, 1 << 10, math.MaxInt64 * 1024.0},
	} {
		a := ir.Type{DType: ir.F32, Axes: []ir.Axis{{Name: "t", Size: c.tokens}, {Name: "k", Size: 1 << 16}}}
		b := ir.Type{DType: ir.F32, Axes: []ir.Axis{{Name: "k", Size: 1 << 16}, {Name: "n", Size: 1 << 16}}}
		out := ir.Type{DType: ir.F32, Axes: []ir.Axis{a.Axes[0], b.Axes[1]}}
		o := new(ir.Func).NewOp("dot", []*ir.Value{{Type: a}, {Type: b}}, ir.A("over", ir.Names{"k"}), out)
		o.Run = &ir.Run{Stack: &ir.Stack{Count: c.times}}
		if got := op.Work(o); got != c.want {
			t.Errorf("%d tokens, %d times: %g, want %g", c.tokens, c.times, got, c.want)
		}
	}
}
