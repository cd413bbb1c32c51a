package gpu_test

import (
	"testing"

	"ptc/backend"
	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
	"ptc/runtime/program"
)

// compute is what products say of a kernel, in float64: its results from its arguments.
func compute(k *program.Kernel, f *ir.Func, args []*tensor.Tensor) []*tensor.Tensor {
	out := make([]*tensor.Tensor, len(f.Results))
	at := func(m *program.Matrices, b, i, j int64) float64 {
		if m.Transposed {
			i, j = j, i
		}
		return args[m.Arg].Data[m.Offset+b*m.Batch+i*m.Row+j]
	}
	for n := range k.Products {
		p := &k.Products[n]
		r := tensor.New(f.Results[p.Out.Arg-len(args)].Value.Type)
		for b := range p.Batch {
			for i := range p.M {
				for j := range p.N {
					var sum float64
					for x := range p.K {
						sum += at(&p.Left, b, i, x) * at(&p.Right, b, x, j)
					}
					if p.Add != nil {
						sum += at(p.Add, b, i, j)
					}
					if p.Bias != nil {
						sum += at(p.Bias, 0, 0, j)
					}
					r.Data[b*p.Out.Batch+i*p.Out.Row+j] = sum
				}
			}
		}
		out[p.Out.Arg-len(args)] = r
	}
	return out
}

// TestProducts: what a plan says of kernels that are products is what they compute.
func TestProducts(t *testing.T) {
	found := 0
	for _, m := range models {
		if m.set == "seq=70" {
			continue // takes long, and has what the others have
		}
		p := compile(t, m.name, m.set, m.layout, "cuda:sm_80")
		for i := range p.Kernels {
			k := &p.Kernels[i]
			if len(k.Products) == 0 {
				continue
			}
			found += len(k.Products)
			x, errs := ir.Parse(k.Name, []byte("ptir 1 fused \"kernels\"\n"+k.IR))
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			f := x.Funcs[0]
			args, want := evaluate(t, x, f, int64(i))
			for r, got := range compute(k, f, args) {
				if at, diff := irtest.Worst(got, want[r]); !(diff < irtest.Rounding(f.Results[r].Value)) {
					t.Errorf("%s %s: result %d: element %d is %v, want %v: %+v\n%s", m.name, k.Name, r, at, got.Data[at], want[r].Data[at], k.Products, k.IR)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("%d products", found)
	}
}

// TestNoProducts: a kernel that does more than a product, or whose operands are no matrices, is none.
func TestNoProducts(t *testing.T) {
	const head = "func @k class=kernel kind=gemm\n  arg %0 : f32[m=4, k=6] in\n  arg %1 : f32[k=6, n=8] in\n  arg %2 : f32[m=4, n=8] in\n  arg %3 : f32[n=8] in\n  arg %4 : f32[m=4] in\n"
	const dot = "  %5 : f32[m=4, n=8] = dot %0, %1 over=(k)\n"
	for _, c := range []struct {
		name, body string
		want       bool
	}{
		{"a product", dot + "  result %5 out\n", true},
		{"what is added twice", dot + "  %6 : f32[m=4, n=8] = add %5, %2\n  %7 : f32[m=4, n=8] = add %6, %2\n  result %7 out\n", false},
		{"a matrix and a row", dot + "  %6 : f32[m=4, n=8] = add %3, %5\n  %7 : f32[m=4, n=8] = add %6, %2\n  result %7 out\n", true},
		{"a column", dot + "  %6 : f32[m=4, n=8] = add %5, %4\n  result %6 out\n", false},
		{"its own sum", dot + "  %6 : f32[m=4, n=8] = add %5, %5\n  result %6 out\n", false},
		{"a difference", dot + "  %6 : f32[m=4, n=8] = sub %5, %2\n  result %6 out\n", false},
		{"an activation", dot + "  %6 : f32[m=4, n=8] = tanh %5\n  result %6 out\n", false},
		{"two results", dot + "  %6 : f32[m=4, n=8] = add %5, %2\n  result %5 out\n  result %6 out\n", false},
		{"a cast to fewer bits than the factors", dot + "  %6 : bf16[m=4, n=8] = cast %5 to=bf16\n  result %6 out\n", false},
		{"a computed operand", "  %5 : f32[m=4, k=6] = neg %0\n  %6 : f32[m=4, n=8] = dot %5, %1 over=(k)\n  result %6 out\n", false},
		{"a part of an operand", "  %5 : f32[m=2, k=6] = slice %0 axis=m start=1 size=2\n  %6 : f32[m=2, n=8] = dot %5, %1 over=(k)\n  result %6 out\n", true},
		{"parts of both operands", "  %5 : f32[k=3, n=8] = slice %1 axis=k size=3\n  %6 : f32[m=4, k=3] = slice %0 axis=k start=3 size=3\n  %7 : f32[m=4, n=8] = dot %6, %5 over=(k)\n  result %7 out\n", true},
	} {
		m, errs := ir.Parse("k.ptir", []byte("ptir 1 fused \"\"\n\n"+head+c.body+"end\n"))
		if len(errs) > 0 {
			t.Errorf("%s: %v", c.name, errs)
			continue
		}
		to, err := backend.Resolve("cuda:sm_80")
		if err != nil {
			t.Fatal(err)
		}
		code, err := to.Generate(m.Funcs, nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := len(code.Kernels[0].Products) > 0; got != c.want {
			t.Errorf("%s: found %v", c.name, got)
		}
	}
}
