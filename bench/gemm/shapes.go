package main

import (
	"fmt"
	"slices"
	"strings"

	"ptc/backend/cpu/gemm"
	"ptc/backend/cpu/lower"
	"ptc/backend/kernel"
	"ptc/ir"
)

// shape is a product batch × [m, k] · [k, n], dense, with the batch outermost.
type shape struct {
	batch, m, n, k int64
	form           string // NN, NT, TN or TT: whether left and right are stored transposed
	narrow         bool   // operands and result in bf16, not f32
}

func (s shape) String() string {
	text := fmt.Sprintf("%dx%dx%d %s", s.m, s.n, s.k, s.form)
	if s.batch > 1 {
		text = fmt.Sprintf("%d x %s", s.batch, text)
	}
	return text
}

func (s shape) flops() float64 { return 2 * float64(s.batch*s.m*s.n) * float64(s.k) }

func (s shape) leftUnit() gemm.Along {
	if s.form[0] == 'T' {
		return gemm.AlongM
	}
	return gemm.AlongK
}

func (s shape) rightUnit() gemm.Along {
	if s.form[1] == 'T' {
		return gemm.AlongK
	}
	return gemm.AlongN
}

// sweep lists squares, the products of GPT-2 124M and their gradients, attention's
// by head, and products of few rows.
func sweep() []shape {
	var out []shape
	add := func(batch, m, n, k int64, forms string) {
		for _, f := range strings.Fields(forms) {
			out = append(out, shape{batch: batch, m: m, n: n, k: k, form: f})
		}
	}
	for n := int64(64); n <= 4096; n *= 2 {
		add(1, n, n, n, "NN NT TN")
	}
	add(1, 1024, 768, 768, "NN NT")
	add(1, 768, 768, 1024, "TN")
	add(1, 1024, 3072, 768, "NN NT")
	add(1, 1024, 768, 3072, "NN NT")
	add(1, 768, 3072, 1024, "TN")
	add(1, 3072, 768, 1024, "TN")
	add(1, 1024, 50257, 768, "NT")
	add(1, 1024, 768, 50257, "NN")
	add(1, 50257, 768, 1024, "TN")
	add(48, 256, 256, 64, "NN NT")
	add(48, 256, 64, 256, "NN TN")
	add(1, 1, 3072, 768, "NN NT")
	add(1, 1, 768, 3072, "NN NT")
	add(1, 8, 3072, 768, "NN NT")
	add(1, 64, 64, 4096, "NN TN")
	add(1, 2, 3072, 768, "NN")
	add(1, 4, 3072, 768, "NN NT")
	add(1, 8, 768, 3072, "NN NT")
	return out
}

// elem is the name of what its operands and result are made of.
func (s shape) elem() string {
	if s.narrow {
		return "bf16"
	}
	return "f32"
}

// launches are what the compiler makes of s: one kernel, or where it sums in parts two, with so many
// bytes between them.
func (s shape) launches(name string, m kernel.Machine) (list []lower.Launch, between []int64, err error) {
	operand := func(free string, n int64, unit gemm.Along) string {
		axes := []string{fmt.Sprintf("%s=%d", free, n), fmt.Sprintf("k=%d", s.k)}
		if unit != gemm.AlongK {
			slices.Reverse(axes)
		}
		return strings.Join(append(s.outer("batch=%d", s.batch), axes...), ", ")
	}
	text := fmt.Sprintf(`ptir 1 fused "gemm"

func @%[6]s class=kernel kind=gemm
  arg %%0 : %[5]s[%[1]s] in
  arg %%1 : %[5]s[%[2]s] in
  %%2 : %[5]s[%[3]s] = dot %%0, %%1 out=(%[4]s) over=(k)
  result %%2 out
end
`, operand("m", s.m, s.leftUnit()), operand("n", s.n, s.rightUnit()),
		strings.Join(append(s.outer("batch=%d", s.batch), fmt.Sprintf("m=%d, n=%d", s.m, s.n)), ", "),
		strings.Join(append(s.outer("batch"), "m", "n"), ", "), s.elem(), name)
	module, errs := ir.Parse("gemm.ptir", []byte(text))
	if len(errs) > 0 {
		return nil, nil, errs
	}
	return lower.Launches(name, module.Funcs[0], m, nil)
}

// outer is the text of the batch, where there is one.
func (s shape) outer(format string, args ...any) []string {
	if s.batch == 1 {
		return nil
	}
	return []string{fmt.Sprintf(format, args...)}
}

func (s shape) spec(name string) gemm.Spec {
	var b *kernel.Builder
	var bufs [3]*kernel.Buffer
	operand := func(i int, n int64, unit gemm.Along) gemm.Operand {
		free, deep := s.k, int64(1) // strides of the axis of the result, and of K
		if unit != gemm.AlongK {
			free, deep = 1, n
		}
		return gemm.Operand{Unit: unit, Load: func(at gemm.At, along gemm.Along, lanes int, mask *kernel.Value) *kernel.Value {
			x, stride := at.M, free
			if i == 1 {
				x = at.N
			}
			if along == gemm.AlongK {
				stride = deep
			}
			x = x.Mul(free).Add(at.K.Mul(deep))
			if s.batch > 1 {
				x = x.Add(at.Outer[0].Mul(n * s.k))
			}
			return b.Load(bufs[i].At(x).Strided(stride).Masked(mask), lanes)
		}}
	}
	spec := gemm.Spec{
		M: s.m, N: s.n, K: s.k,
		Left:  operand(0, s.m, s.leftUnit()),
		Right: operand(1, s.n, s.rightUnit()),
		Begin: func(tasks int64) *kernel.Builder {
			b = kernel.New(name, tasks)
			bufs[0] = b.Arg("left", kernel.F32, s.batch*s.m*s.k, kernel.Read)
			bufs[1] = b.Arg("right", kernel.F32, s.batch*s.k*s.n, kernel.Read)
			bufs[2] = b.Arg("out", kernel.F32, s.batch*s.m*s.n, kernel.Write)
			return b
		},
		Store: func(at gemm.At, acc *kernel.Value, lanes int, mask *kernel.Value) {
			x := at.M.Mul(s.n).Add(at.N)
			if s.batch > 1 {
				x = x.Add(at.Outer[0].Mul(s.m * s.n))
			}
			b.Store(bufs[2].At(x).Masked(mask), acc)
		},
	}
	if s.batch > 1 {
		spec.Outer = []int64{s.batch}
	}
	return spec
}
