package op_test

import (
	"math"
	"testing"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

// points are finite operands at which functions may have no derivative.
var points = []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -0.5, 2, -2.5, 3, 30, -30, 1e-30, -1e-30, 0x1p-149}

// unbounded says where the gradient for operand i is infinite or NaN although
// operands are finite: where docs/language.md says so, under "Edge points".
var unbounded = map[string]func(i int, x []float64) bool{
	"sqrt":  func(_ int, x []float64) bool { return x[0] <= 0 },
	"rsqrt": func(_ int, x []float64) bool { return x[0] <= 0 },
	"log":   func(_ int, x []float64) bool { return x[0] == 0 },
	"div":   func(_ int, x []float64) bool { return x[1] == 0 },
	"mod":   func(i int, x []float64) bool { return x[1] == 0 && i == 1 },
	"pow": func(i int, x []float64) bool {
		base, exponent := x[0], x[1]
		switch {
		case base == 0 && i == 0:
			return exponent < 1 && exponent != 0
		case base == 0:
			return exponent < 0
		case base < 0 && (i == 1 || exponent-1 != math.Floor(exponent-1)):
			return true
		}
		return (exponent-1)*math.Log(math.Abs(base)) > 700 // overflow
	},
}

// TestGradientsAtEdges: for every elementwise operation and reduction with a
// gradient, it is finite at points where operands are, or the table says why not.
func TestGradientsAtEdges(t *testing.T) {
	for _, d := range op.All() {
		if d.Grad == nil || d.Class != op.Elementwise && d.Class != op.Reduction {
			continue
		}
		for _, e := range edgeExamples(d) {
			m, _, o := single(t, d, e)
			g := gradientFunc(d, o, e)
			w := tensor.New(o.Result().Type)
			for i := range w.Data {
				w.Data[i] = 1
			}
			got := run(t, m, g.f, append(cloneAll(e.Args), w), eval.Options{Exact: true})
			for i := range e.Args {
				if g.of[i] < 0 {
					continue
				}
				for k, v := range got[g.of[i]].Data {
					var x []float64
					for _, a := range e.Args {
						x = append(x, a.Data[k])
					}
					excused := unbounded[d.Name] != nil && unbounded[d.Name](i, x)
					if finite := v-v == 0; finite == excused {
						t.Errorf("%s%v: the gradient of operand %d is %v", d.Name, x, i, v)
					}
				}
			}
		}
	}
}

// edgeExamples have every combination of points for two operands of floats, or
// every tie of them where a reduction takes two.
func edgeExamples(d *op.Def) []op.Example {
	n := len(points)
	x, y := tensor.New(typ(ir.F64, "p", n*n)), tensor.New(typ(ir.F64, "p", n*n))
	for i, a := range points {
		for j, b := range points {
			x.Data[i*n+j], y.Data[i*n+j] = a, b
		}
	}
	yes := tensor.New(typ(ir.Bool, "p", n*n))
	switch {
	case d.Class == op.Reduction:
		pairs := tensor.New(typ(ir.F64, "p", n*n, "q", 2))
		for i := range x.Data {
			pairs.Data[2*i], pairs.Data[2*i+1] = x.Data[i], y.Data[i]
		}
		return []op.Example{{Args: []*tensor.Tensor{pairs}, Attrs: ir.A("over", ir.Names{"q"})}}
	case d.Name == "cast":
		return []op.Example{{Args: []*tensor.Tensor{x}, Attrs: ir.A("to", ir.Name("f32"))}}
	case d.Name == "select":
		return []op.Example{{Args: []*tensor.Tensor{yes, x, y}}}
	case d.MaxArgs == 1:
		return []op.Example{{Args: []*tensor.Tensor{x}}}
	}
	return []op.Example{{Args: []*tensor.Tensor{x, y}}}
}
