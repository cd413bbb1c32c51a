package op_test

import (
	"testing"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

// BenchmarkEval measures the reference evaluation of operations that dominate
// a transformer's step.
func BenchmarkEval(b *testing.B) {
	x := typ(ir.F32, "batch", 4, "seq", 64, "embed", 128)
	for _, c := range []struct {
		label string
		name  string
		args  []ir.Type
		attrs ir.Attrs
	}{
		{"unary", "exp", []ir.Type{x}, nil},
		{"same axes", "add", []ir.Type{x, x}, nil},
		{"rows", "mul", []ir.Type{x, typ(ir.F32, "batch", 4, "seq", 64)}, nil},
		{"scalar", "mul", []ir.Type{x, typ(ir.F32)}, nil},
		{"reversed", "transpose", []ir.Type{x}, ir.A("order", ir.Names{"embed", "seq", "batch"})},
		{"last axis", "reduce_sum", []ir.Type{x}, ir.A("over", ir.Names{"embed"})},
		{"first axes", "reduce_sum", []ir.Type{x}, ir.A("over", ir.Names{"batch", "seq"})},
		{"last axis", "reduce_max", []ir.Type{x}, ir.A("over", ir.Names{"embed"})},
		{"linear layer", "dot", []ir.Type{x, typ(ir.F32, "embed", 128, "ffn", 256)}, ir.A("over", ir.Names{"embed"})},
		{"batched", "dot", []ir.Type{x, typ(ir.F32, "batch", 4, "kseq", 64, "embed", 128)}, ir.A("over", ir.Names{"embed"}, "out", ir.Names{"batch", "seq", "kseq"})},
		{"uniform", "random", []ir.Type{ir.Scalar(ir.I32), ir.Scalar(ir.I32)}, ir.A("axes", ir.Sizes{{Name: "a", N: 1 << 15}}, "dist", ir.Name("uniform"), "site", ir.Int(1))},
	} {
		b.Run(c.name+" "+c.label, func(b *testing.B) {
			f := &ir.Func{}
			bd := &op.Builder{F: f}
			var vs []*ir.Value
			var args []*tensor.Tensor
			for _, t := range c.args {
				vs = append(vs, f.NewValue(t, nil))
				args = append(args, weights(t))
			}
			o := bd.Emit(c.name, c.attrs, vs...).Def
			row := op.Of(o)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := row.Eval(&op.Context{}, o, args); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(o.Result().Type.Elems()), "ns/elem")
		})
	}
}
