package irtest

import (
	"fmt"
	"math"
	"math/rand"
	"strings"

	"ptc/ir"
	"ptc/ir/tensor"
)

// Attention is an attention to be written as a kernel function.
type Attention struct {
	Batch, Heads, Group, Rows, Keys, Cols, Values int // heads are those of keys, of which each has a group of queries' heads; columns are those of keys and of values
	Causal, Document, Bias, Cap                   bool
	Window                                        int
	Dropout, BF16, Stats, Transposed              bool
	Latent                                        bool // a second product makes the scores, of which heads share the keys
	Sink                                          bool // a logit of each head is in the sum, and has no key
	Slopes                                        bool // positions of keys times a number of the head are added to the scores
}

// lines writes IR line by line.
type lines struct {
	strings.Builder
	n int
}

// arg and add append an argument, and an operation with a result of type t; the result is
// its name.
func (w *lines) arg(t string) string {
	fmt.Fprintf(w, "  arg %%%d : %s in\n", w.n, t)
	w.n++
	return fmt.Sprintf("%%%d", w.n-1)
}

func (w *lines) add(t, format string, args ...any) string {
	fmt.Fprintf(w, "  %%%d : %s = %s\n", w.n, t, fmt.Sprintf(format, args...))
	w.n++
	return fmt.Sprintf("%%%d", w.n-1)
}

func (w *lines) constant(x string) string { return w.add("f32[]", "const dtype=f32 value=%s", x) }

// types of the attention's values.
func (a Attention) over(dtype string, axes ...string) string {
	sizes := map[string]int{"b": a.Batch, "kv": a.Heads, "g": a.Group, "s": a.Rows, "t": a.Keys, "d": a.Cols, "e": a.Values, "r": 3}
	for i, x := range axes {
		axes[i] = fmt.Sprintf("%s=%d", x, sizes[x])
	}
	return dtype + "[" + strings.Join(axes, ", ") + "]"
}

func (a Attention) scores(dtype string) string { return a.over(dtype, "b", "kv", "g", "s", "t") }
func (a Attention) rows(dtype string) string   { return a.over(dtype, "b", "s", "kv", "g") }

// inputs are the arguments that forward and backward phase have.
type inputs struct{ q, k, v, q2, k2, bias, slopes, row, key, seed, sink string }

func (a Attention) args(w *lines) (x inputs) {
	f := "f32"
	if a.BF16 {
		f = "bf16"
	}
	x.q = w.arg(a.over(f, "b", "s", "kv", "g", "d"))
	x.k = w.arg(a.over(f, "b", "t", "kv", "d"))
	if a.Transposed {
		x.v = w.arg(a.over(f, "b", "kv", "e", "t"))
	} else {
		x.v = w.arg(a.over(f, "b", "t", "kv", "e"))
	}
	if a.Latent {
		x.q2 = w.arg(a.over(f, "b", "s", "kv", "g", "r"))
		x.k2 = w.arg(a.over(f, "b", "t", "r"))
	}
	if a.Bias {
		x.bias = w.arg(a.over("f32", "kv", "g", "s", "t"))
	}
	if a.Slopes {
		x.slopes = w.arg(a.over("f32", "kv", "g"))
	}
	if a.Document {
		x.row, x.key = w.arg(a.over("i32", "b", "s")), w.arg(a.over("i32", "b", "t"))
	}
	if a.Dropout {
		x.seed = w.arg("i32[]")
	}
	return x
}

// score writes the scores; the result is the name.
func (a Attention) score(w *lines, x inputs) string {
	to := ""
	if a.BF16 {
		to = " to=f32"
	}
	s := w.add(a.scores("f32"), "dot %s, %s out=(b, kv, g, s, t) over=(d)%s", x.q, x.k, to)
	if a.Latent {
		s = w.add(a.scores("f32"), "add %s, %s", s, w.add(a.scores("f32"), "dot %s, %s out=(b, kv, g, s, t) over=(r)%s", x.q2, x.k2, to))
	}
	s = w.add(a.scores("f32"), "div %s, %s", s, w.constant(fmt.Sprint(2+a.Cols%3)))
	if a.Cap {
		c := w.constant("3")
		s = w.add(a.scores("f32"), "mul %s, %s", w.add(a.scores("f32"), "tanh %s", w.add(a.scores("f32"), "div %s, %s", s, c)), c)
	}
	if a.Bias {
		s = w.add(a.scores("f32"), "add %s, %s", s, x.bias)
	}
	if a.Slopes {
		at := w.add(a.over("f32", "t"), "cast %s to=f32", w.add(a.over("i32", "t"), "index axis=t size=%d", a.Keys))
		s = w.add(a.scores("f32"), "add %s, %s", s, w.add(a.over("f32", "kv", "g", "t"), "mul %s, %s", at, x.slopes))
	}
	return a.masked(w, x, s)
}

func (a Attention) masked(w *lines, x inputs, s string) string {
	mask := ""
	and := func(m, t string) {
		if mask != "" {
			m = w.add(a.over("bool", "b", "s", "t"), "and %s, %s", mask, m)
		}
		mask = m
	}
	if a.Causal || a.Window > 0 {
		i, j := w.add(a.over("i32", "s"), "index axis=s size=%d", a.Rows), w.add(a.over("i32", "t"), "index axis=t size=%d", a.Keys)
		if a.Causal {
			mask = w.add(a.over("bool", "s", "t"), "ge %s, %s", i, j)
		}
		if a.Window > 0 {
			far := w.add(a.over("i32", "s", "t"), "sub %s, %s", i, j)
			near := w.add(a.over("bool", "s", "t"), "lt %s, %s", far, w.add("i32[]", "const dtype=i32 value=%d", a.Window))
			if mask != "" {
				near = w.add(a.over("bool", "s", "t"), "and %s, %s", mask, near)
			}
			mask = near
		}
	}
	if a.Document {
		and(w.add(a.over("bool", "b", "s", "t"), "eq %s, %s", x.row, x.key), "")
	}
	if mask == "" {
		return s
	}
	return w.add(a.scores("f32"), "select %s, %s, %s", mask, s, w.constant("-inf"))
}

// drop writes the weights with dropout.
func (a Attention) drop(w *lines, x inputs, p string) string {
	if !a.Dropout {
		return p
	}
	u := w.add(a.scores("f32"), "random %s, %s axes={b=%d, kv=%d, g=%d, s=%d, t=%d} dist=uniform site=3", x.seed, x.seed, a.Batch, a.Heads, a.Group, a.Rows, a.Keys)
	keep := w.constant("0.75")
	kept := w.add(a.scores("bool"), "lt %s, %s", u, keep)
	return w.add(a.scores("f32"), "select %s, %s, %s", kept, w.add(a.scores("f32"), "div %s, %s", p, keep), w.constant("0"))
}

// Forward is the attention as a kernel function.
func (a Attention) Forward() string {
	var w lines
	w.WriteString("func @k class=kernel\n")
	x := a.args(&w)
	if a.Sink {
		x.sink = w.arg(a.over("f32", "kv", "g"))
	}
	s := a.score(&w, x)
	m := w.add(a.rows("f32"), "reduce_max %s over=(t)", s)
	if a.rows("f32") != a.over("f32", "b", "kv", "g", "s") {
		fix(&w, &m, a)
	}
	if a.Sink {
		m = w.add(a.over("f32", "b", "kv", "g", "s"), "max %s, %s", m, x.sink)
	}
	e := w.add(a.scores("f32"), "exp %s", w.add(a.scores("f32"), "sub %s, %s", s, m))
	l := w.add(a.over("f32", "b", "kv", "g", "s"), "reduce_sum %s over=(t)", e)
	p, f, to := e, "f32", ""
	if a.Sink {
		sunk := w.add(a.over("f32", "b", "kv", "g", "s"), "exp %s", w.add(a.over("f32", "b", "kv", "g", "s"), "sub %s, %s", x.sink, m))
		l = w.add(a.over("f32", "b", "kv", "g", "s"), "add %s, %s", l, sunk)
	} else {
		p = w.add(a.scores("f32"), "div %s, %s", e, l)
	}
	if p = a.drop(&w, x, p); a.BF16 {
		p = w.add(a.scores("bf16"), "cast %s to=bf16", p)
		f = "bf16"
	}
	of := f
	if a.Sink && a.BF16 {
		of, to = "f32", " to=f32"
	}
	o := w.add(a.over(of, "b", "s", "kv", "g", "e"), "dot %s, %s out=(b, s, kv, g, e) over=(t)%s", p, x.v, to)
	if a.Sink {
		o = w.add(a.over("f32", "b", "s", "kv", "g", "e"), "div %s, %s", o, l)
	}
	if of != f {
		o = w.add(a.over(f, "b", "s", "kv", "g", "e"), "cast %s to=bf16", o)
	}
	fmt.Fprintf(&w, "  result %s out\n", o)
	if a.Stats {
		fmt.Fprintf(&w, "  result %s out\n  result %s out\n", m, l)
	}
	w.WriteString("end\n")
	return w.String()
}

// fix gives the reduction its result's type: the axes of the scores but the keys.
func fix(w *lines, m *string, a Attention) {
	s := w.String()
	w.Reset()
	w.WriteString(strings.Replace(s, *m+" : "+a.rows("f32"), *m+" : "+a.over("f32", "b", "kv", "g", "s"), 1))
}

// RandomAttention is one with up to 70 rows and keys.
func RandomAttention(r *rand.Rand) Attention {
	one := func(of ...int) int { return of[r.Intn(len(of))] }
	flag := func(n int) bool { return r.Intn(n) == 0 }
	a := Attention{Batch: one(1, 2), Heads: one(1, 2), Group: one(1, 1, 3), Rows: 1 + r.Intn(70), Keys: 1 + r.Intn(70), Cols: one(8, 32, 5, 16, 20), Values: one(8, 32, 3, 24)}
	if flag(2) {
		a.Keys = a.Rows
	}
	a.Causal, a.Document, a.Bias, a.Cap = flag(2) && a.Keys <= a.Rows, flag(4), flag(3), flag(4)
	if flag(4) && a.Keys <= a.Rows {
		a.Window = 1 + r.Intn(20)
	}
	a.Dropout, a.BF16, a.Stats, a.Transposed, a.Latent = flag(4), flag(4), flag(2), flag(5), flag(5)
	a.Sink = flag(3)
	return a
}

// Backward is the gradients of queries, keys and values as a kernel function, from what
// the forward phase has stored.
func (a Attention) Backward() string {
	var w lines
	w.WriteString("func @k class=kernel\n")
	x := a.args(&w)
	f := "f32"
	if a.BF16 {
		f = "bf16"
	}
	m, l := w.arg(a.rows("f32")), w.arg(a.rows("f32"))
	do, delta := w.arg(a.over(f, "b", "s", "kv", "g", "e")), w.arg(a.rows("f32"))
	scores := a.scores("f32")
	s := a.score(&w, x)
	p := w.add(scores, "div %s, %s", w.add(scores, "exp %s", w.add(scores, "sub %s, %s", s, m)), l)
	to := ""
	if a.BF16 {
		to = " to=f32"
	}
	dp := a.drop(&w, x, w.add(scores, "dot %s, %s out=(b, kv, g, s, t) over=(e)%s", do, x.v, to))
	ds := w.add(scores, "mul %s, %s", p, w.add(scores, "sub %s, %s", dp, delta))
	ds = w.add(scores, "div %s, %s", ds, w.constant(fmt.Sprint(2+a.Cols%3)))
	pd := a.drop(&w, x, p)
	if a.BF16 {
		ds, pd = w.add(a.scores("bf16"), "cast %s to=bf16", ds), w.add(a.scores("bf16"), "cast %s to=bf16", pd)
	}
	results := []string{
		w.add(a.over(f, "b", "s", "kv", "g", "d"), "dot %s, %s out=(b, s, kv, g, d) over=(t)", ds, x.k),
		w.add(a.over(f, "b", "t", "kv", "d"), "dot %s, %s out=(b, t, kv, d) over=(g, s)", ds, x.q),
		w.add(a.over(f, "b", "t", "kv", "e"), "dot %s, %s out=(b, t, kv, e) over=(g, s)", pd, do),
	}
	if a.Latent {
		results = append(results,
			w.add(a.over(f, "b", "s", "kv", "g", "r"), "dot %s, %s out=(b, s, kv, g, r) over=(t)", ds, x.k2),
			w.add(a.over(f, "b", "t", "r"), "dot %s, %s out=(b, t, r) over=(g, s, kv)", ds, x.q2))
	}
	for _, v := range results {
		fmt.Fprintf(&w, "  result %s out\n", v)
	}
	w.WriteString("end\n")
	return w.String()
}

// Ring is a step of an attention whose keys come in blocks: what earlier blocks have left
// is in %3, %4 and %5, and no key from %6 on is seen.
const Ring = `func @k class=kernel
  arg %0 : f32[b=2, s=19, d=8] in
  arg %1 : f32[b=2, t=33, d=8] in
  arg %2 : f32[b=2, t=33, d=8] in
  arg %3 : f32[b=2, s=19] in
  arg %4 : f32[b=2, s=19] in
  arg %5 : f32[b=2, s=19, d=8] in
  arg %6 : i32[] in
  %7 : f32[b=2, s=19, t=33] = dot %0, %1 over=(d)
  %8 : i32[s=19] = index axis=s size=19
  %9 : i32[t=33] = index axis=t size=33
  %10 : i32[t=33] = add %9, %6
  %11 : bool[s=19, t=33] = lt %8, %10
  %12 : f32[] = const dtype=f32 value=-inf
  %13 : f32[b=2, s=19, t=33] = select %11, %12, %7
  %14 : f32[b=2, s=19] = reduce_max %13 over=(t)
  %15 : f32[b=2, s=19] = max %3, %14
  %16 : bool[b=2, s=19] = gt %15, %12
  %17 : f32[] = const dtype=f32 value=0
  %18 : f32[b=2, s=19] = select %16, %15, %17
  %19 : f32[b=2, s=19, t=33] = sub %13, %18
  %20 : f32[b=2, s=19, t=33] = exp %19
  %21 : f32[b=2, s=19] = sub %3, %18
  %22 : f32[b=2, s=19] = exp %21
  %23 : f32[b=2, s=19] = reduce_sum %20 over=(t)
  %24 : f32[b=2, s=19] = mul %4, %22
  %25 : f32[b=2, s=19] = add %24, %23
  %26 : f32[b=2, s=19, d=8] = dot %20, %2 over=(t)
  %27 : f32[b=2, s=19, d=8] = mul %5, %22
  %28 : f32[b=2, s=19, d=8] = add %27, %26
  result %15 out
  result %25 out
  result %28 out
end
`

// RingStep is a step of [Ring].
type RingStep struct {
	First float64 // position of the first key, less that of the first row
	Top   float64 // what earlier blocks have found
	Scale float64 // of queries
}

// RingSteps are the first, which has nothing of earlier blocks, and later ones, which hide keys
// from some rows or all, with scores near zero and far from it.
var RingSteps = []RingStep{{0, 2, 1}, {0, math.Inf(-1), 1}, {-10, math.Inf(-1), -40}, {-40, math.Inf(-1), 30}, {5, 1, 1}, {40, math.Inf(-1), 1}, {40, 3, 1}, {-5, -300, -60}}

// Arguments are those of the step.
func (s RingStep) Arguments(f *ir.Func) []*tensor.Tensor {
	args := Arguments(f, 3)
	for i := range args[0].Data {
		args[0].Data[i] *= s.Scale
	}
	for i := range args[3].Data {
		args[3].Data[i] = s.Top
		if math.IsInf(s.Top, -1) {
			args[4].Data[i] = 0
			for j := range 8 {
				args[5].Data[8*i+j] = 0
			}
		}
	}
	args[6].Data[0] = s.First
	for _, x := range args {
		x.Round()
	}
	return args
}
