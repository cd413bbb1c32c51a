package lanes

import (
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"

	"ptc/backend/kernel"
	"ptc/backend/kernel/kerneltest"
	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/irtest"
	"ptc/ir/tensor"
)

// attend is an attention to be written as a kernel function.
type attend struct {
	b, kv, g, s, t, d, e             int // batch, heads of keys, queries' heads for each, queries, keys, columns of keys and of values
	causal, document, bias, cap      bool
	window                           int
	dropout, bf16, stats, transposed bool
	latent                           bool // a second product makes the scores, of which heads share the keys
}

// text writes IR line by line.
type text struct {
	strings.Builder
	n int
}

// arg and add append an argument, and an operation with a result of type t; the result is
// its name.
func (w *text) arg(t string) string {
	fmt.Fprintf(w, "  arg %%%d : %s in\n", w.n, t)
	w.n++
	return fmt.Sprintf("%%%d", w.n-1)
}

func (w *text) add(t, format string, args ...any) string {
	fmt.Fprintf(w, "  %%%d : %s = %s\n", w.n, t, fmt.Sprintf(format, args...))
	w.n++
	return fmt.Sprintf("%%%d", w.n-1)
}

func (w *text) constant(x string) string { return w.add("f32[]", "const dtype=f32 value=%s", x) }

// types of the attention's values.
func (a attend) over(dtype string, axes ...string) string {
	sizes := map[string]int{"b": a.b, "kv": a.kv, "g": a.g, "s": a.s, "t": a.t, "d": a.d, "e": a.e, "r": 3}
	for i, x := range axes {
		axes[i] = fmt.Sprintf("%s=%d", x, sizes[x])
	}
	return dtype + "[" + strings.Join(axes, ", ") + "]"
}

func (a attend) scores(dtype string) string { return a.over(dtype, "b", "kv", "g", "s", "t") }
func (a attend) rows(dtype string) string   { return a.over(dtype, "b", "s", "kv", "g") }

// inputs are the arguments that forward and backward phase have.
type inputs struct{ q, k, v, q2, k2, bias, row, key, seed string }

func (a attend) args(w *text) (x inputs) {
	f := "f32"
	if a.bf16 {
		f = "bf16"
	}
	x.q = w.arg(a.over(f, "b", "s", "kv", "g", "d"))
	x.k = w.arg(a.over(f, "b", "t", "kv", "d"))
	if a.transposed {
		x.v = w.arg(a.over(f, "b", "kv", "e", "t"))
	} else {
		x.v = w.arg(a.over(f, "b", "t", "kv", "e"))
	}
	if a.latent {
		x.q2 = w.arg(a.over(f, "b", "s", "kv", "g", "r"))
		x.k2 = w.arg(a.over(f, "b", "t", "r"))
	}
	if a.bias {
		x.bias = w.arg(a.over("f32", "kv", "g", "s", "t"))
	}
	if a.document {
		x.row, x.key = w.arg(a.over("i32", "b", "s")), w.arg(a.over("i32", "b", "t"))
	}
	if a.dropout {
		x.seed = w.arg("i32[]")
	}
	return x
}

// score writes the scores; the result is the name.
func (a attend) score(w *text, x inputs) string {
	to := ""
	if a.bf16 {
		to = " to=f32"
	}
	s := w.add(a.scores("f32"), "dot %s, %s out=(b, kv, g, s, t) over=(d)%s", x.q, x.k, to)
	if a.latent {
		s = w.add(a.scores("f32"), "add %s, %s", s, w.add(a.scores("f32"), "dot %s, %s out=(b, kv, g, s, t) over=(r)%s", x.q2, x.k2, to))
	}
	s = w.add(a.scores("f32"), "div %s, %s", s, w.constant(fmt.Sprint(2+a.d%3)))
	if a.cap {
		c := w.constant("3")
		s = w.add(a.scores("f32"), "mul %s, %s", w.add(a.scores("f32"), "tanh %s", w.add(a.scores("f32"), "div %s, %s", s, c)), c)
	}
	if a.bias {
		s = w.add(a.scores("f32"), "add %s, %s", s, x.bias)
	}
	return a.masked(w, x, s)
}

func (a attend) masked(w *text, x inputs, s string) string {
	mask := ""
	and := func(m, t string) {
		if mask != "" {
			m = w.add(a.over("bool", "b", "s", "t"), "and %s, %s", mask, m)
		}
		mask = m
	}
	if a.causal || a.window > 0 {
		i, j := w.add(a.over("i32", "s"), "index axis=s size=%d", a.s), w.add(a.over("i32", "t"), "index axis=t size=%d", a.t)
		if a.causal {
			mask = w.add(a.over("bool", "s", "t"), "ge %s, %s", i, j)
		}
		if a.window > 0 {
			far := w.add(a.over("i32", "s", "t"), "sub %s, %s", i, j)
			near := w.add(a.over("bool", "s", "t"), "lt %s, %s", far, w.add("i32[]", "const dtype=i32 value=%d", a.window))
			if mask != "" {
				near = w.add(a.over("bool", "s", "t"), "and %s, %s", mask, near)
			}
			mask = near
		}
	}
	if a.document {
		and(w.add(a.over("bool", "b", "s", "t"), "eq %s, %s", x.row, x.key), "")
	}
	if mask == "" {
		return s
	}
	return w.add(a.scores("f32"), "select %s, %s, %s", mask, s, w.constant("-inf"))
}

// drop writes the weights with dropout.
func (a attend) drop(w *text, x inputs, p string) string {
	if !a.dropout {
		return p
	}
	u := w.add(a.scores("f32"), "random %s, %s axes={b=%d, kv=%d, g=%d, s=%d, t=%d} dist=uniform site=3", x.seed, x.seed, a.b, a.kv, a.g, a.s, a.t)
	keep := w.constant("0.75")
	kept := w.add(a.scores("bool"), "lt %s, %s", u, keep)
	return w.add(a.scores("f32"), "select %s, %s, %s", kept, w.add(a.scores("f32"), "div %s, %s", p, keep), w.constant("0"))
}

// forward is the attention as a kernel function.
func (a attend) forward() string {
	var w text
	w.WriteString("func @k class=kernel\n")
	x := a.args(&w)
	s := a.score(&w, x)
	m := w.add(a.rows("f32"), "reduce_max %s over=(t)", s)
	if a.rows("f32") != a.over("f32", "b", "kv", "g", "s") {
		fix(&w, &m, a)
	}
	e := w.add(a.scores("f32"), "exp %s", w.add(a.scores("f32"), "sub %s, %s", s, m))
	l := w.add(a.over("f32", "b", "kv", "g", "s"), "reduce_sum %s over=(t)", e)
	p := a.drop(&w, x, w.add(a.scores("f32"), "div %s, %s", e, l))
	f, to := "f32", ""
	if a.bf16 {
		p = w.add(a.scores("bf16"), "cast %s to=bf16", p)
		f = "bf16"
	}
	o := w.add(a.over(f, "b", "s", "kv", "g", "e"), "dot %s, %s out=(b, s, kv, g, e) over=(t)%s", p, x.v, to)
	fmt.Fprintf(&w, "  result %s out\n", o)
	if a.stats {
		fmt.Fprintf(&w, "  result %s out\n  result %s out\n", m, l)
	}
	w.WriteString("end\n")
	return w.String()
}

// fix gives the reduction its result's type: the axes of the scores but the keys.
func fix(w *text, m *string, a attend) {
	s := w.String()
	w.Reset()
	w.WriteString(strings.Replace(s, *m+" : "+a.rows("f32"), *m+" : "+a.over("f32", "b", "kv", "g", "s"), 1))
}

func randomAttend(r *rand.Rand) attend {
	one := func(of ...int) int { return of[r.Intn(len(of))] }
	flag := func(n int) bool { return r.Intn(n) == 0 }
	a := attend{b: one(1, 2), kv: one(1, 2), g: one(1, 1, 3), s: 1 + r.Intn(70), t: 1 + r.Intn(70), d: one(8, 32, 5, 16, 20), e: one(8, 32, 3, 24)}
	if flag(2) {
		a.t = a.s
	}
	a.causal, a.document, a.bias, a.cap = flag(2) && a.t <= a.s, flag(4), flag(3), flag(4)
	if flag(4) && a.t <= a.s {
		a.window = 1 + r.Intn(20)
	}
	a.dropout, a.bf16, a.stats, a.transposed, a.latent = flag(4), flag(4), flag(2), flag(5), flag(5)
	return a
}

// smallCaches has attentions of a few keys cut into blocks as well.
func smallCaches(t *testing.T) {
	all := machines
	machines = append(machines[:len(machines):len(machines)],
		kernel.Machine{VectorBits: 256, Registers: 16, FMA: true, L1: 4 << 10, L2: 8 << 10},
		kernel.Machine{VectorBits: 128, Registers: 32, FMA: true, L1: 4 << 10, L2: 8 << 10})
	t.Cleanup(func() { machines = all })
}

func TestAttentionForward(t *testing.T) {
	smallCaches(t)
	r := rand.New(rand.NewSource(11))
	n := 40
	if testing.Short() {
		n = 10
	}
	for i := range n {
		a := randomAttend(r)
		f := parse(t, a.forward())
		if k, err := fusion.Analyze(f); err != nil || k.Class != fusion.Attend {
			t.Fatalf("%+v: %v\n%s", a, err, a.forward())
		}
		checkKernel(t, f, int64(i))
		if t.Failed() {
			t.Fatalf("%+v", a)
		}
	}
}

// backward is the gradients of queries, keys and values as a kernel function, from what
// the forward phase has stored.
func (a attend) backward() string {
	var w text
	w.WriteString("func @k class=kernel\n")
	x := a.args(&w)
	f := "f32"
	if a.bf16 {
		f = "bf16"
	}
	m, l := w.arg(a.rows("f32")), w.arg(a.rows("f32"))
	do, delta := w.arg(a.over(f, "b", "s", "kv", "g", "e")), w.arg(a.rows("f32"))
	scores := a.scores("f32")
	s := a.score(&w, x)
	p := w.add(scores, "div %s, %s", w.add(scores, "exp %s", w.add(scores, "sub %s, %s", s, m)), l)
	to := ""
	if a.bf16 {
		to = " to=f32"
	}
	dp := a.drop(&w, x, w.add(scores, "dot %s, %s out=(b, kv, g, s, t) over=(e)%s", do, x.v, to))
	ds := w.add(scores, "mul %s, %s", p, w.add(scores, "sub %s, %s", dp, delta))
	ds = w.add(scores, "div %s, %s", ds, w.constant(fmt.Sprint(2+a.d%3)))
	pd := a.drop(&w, x, p)
	if a.bf16 {
		ds, pd = w.add(a.scores("bf16"), "cast %s to=bf16", ds), w.add(a.scores("bf16"), "cast %s to=bf16", pd)
	}
	results := []string{
		w.add(a.over(f, "b", "s", "kv", "g", "d"), "dot %s, %s out=(b, s, kv, g, d) over=(t)", ds, x.k),
		w.add(a.over(f, "b", "t", "kv", "d"), "dot %s, %s out=(b, t, kv, d) over=(g, s)", ds, x.q),
		w.add(a.over(f, "b", "t", "kv", "e"), "dot %s, %s out=(b, t, kv, e) over=(g, s)", pd, do),
	}
	if a.latent {
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

func TestAttentionBackward(t *testing.T) {
	smallCaches(t)
	r := rand.New(rand.NewSource(12))
	n := 30
	if testing.Short() {
		n = 8
	}
	for i := range n {
		a := randomAttend(r)
		f := parse(t, a.backward())
		if k, err := fusion.Analyze(f); err != nil || k.Class != fusion.Attend {
			t.Fatalf("%+v: %v\n%s", a, err, a.backward())
		}
		checkKernel(t, f, int64(i))
		if t.Failed() {
			t.Fatalf("%+v", a)
		}
	}
}

// ring is a step of an attention whose keys come in blocks: what earlier blocks have left
// is in %3, %4 and %5, and no key from %6 on is seen.
const ring = `func @k class=kernel
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

// Steps of a ring: the first has nothing of earlier blocks, a later one hides keys from
// some rows or all, and scores are far below zero.
func TestAttentionRing(t *testing.T) {
	smallCaches(t)
	f := parse(t, ring)
	for _, c := range []struct {
		first float64 // position of the first key, less that of the first row
		top   float64 // what earlier blocks have found
		scale float64
	}{{0, 2, 1}, {0, math.Inf(-1), 1}, {-10, math.Inf(-1), -40}, {-40, math.Inf(-1), 30}, {5, 1, 1}, {40, math.Inf(-1), 1}, {40, 3, 1}, {-5, -300, -60}} {
		r := rand.New(rand.NewSource(3))
		var args []*tensor.Tensor
		for _, a := range f.Args {
			args = append(args, irtest.Draw(r, a.Value.Type))
		}
		for i := range args[0].Data {
			args[0].Data[i] *= c.scale
		}
		for i := range args[3].Data {
			args[3].Data[i] = c.top
			if math.IsInf(c.top, -1) {
				args[4].Data[i] = 0
				for j := range 8 {
					args[5].Data[8*i+j] = 0
				}
			}
		}
		args[6].Data[0] = c.first
		for _, x := range args {
			x.Round()
		}
		checkArgs(t, f, args)
	}
}

// Keys that no row sees are not computed: of scores that are no numbers nothing comes.
func TestAttentionSkips(t *testing.T) {
	smallCaches(t)
	f := parse(t, `func @k class=kernel
  arg %0 : f32[b=2, s=19, d=8] in
  arg %1 : f32[b=2, t=133, d=8] in
  arg %2 : i32[b=2] in
  %3 : f32[b=2, s=19, t=133] = dot %0, %1 over=(d)
  %4 : i32[t=133] = index axis=t size=133
  %5 : bool[b=2, t=133] = lt %4, %2
  %6 : f32[] = const dtype=f32 value=-inf
  %7 : f32[b=2, s=19, t=133] = select %5, %3, %6
  %8 : f32[b=2, s=19] = reduce_max %7 over=(t)
  %9 : f32[b=2, s=19, t=133] = sub %7, %8
  %10 : f32[b=2, s=19, t=133] = exp %9
  %11 : f32[b=2, s=19] = reduce_sum %10 over=(t)
  %12 : f32[b=2, s=19, t=133] = div %10, %11
  %13 : f32[b=2, s=19, d=8] = dot %12, %1 out=(b, s, d) over=(t)
  result %13 out
end
`)
	r := rand.New(rand.NewSource(3))
	var args []*tensor.Tensor
	for _, a := range f.Args {
		args = append(args, irtest.Draw(r, a.Value.Type))
	}
	lengths := []int{30, 77}
	for b, n := range lengths {
		args[2].Data[b] = float64(n)
		for i := range args[1].Data[b*133*8+n*8 : (b+1)*133*8] {
			args[1].Data[b*133*8+n*8+i] = math.NaN()
		}
	}
	for _, m := range machines {
		k, err := Kernel("k", f, m, nil)
		if err != nil {
			t.Fatal(err)
		}
		bufs, outs := buffers(f, args)
		if err := kerneltest.Interpret(k, bufs, 0, k.Tasks); err != nil {
			t.Fatal(err)
		}
		got := tensor.New(f.Results[0].Value.Type)
		got.Get(outs[0])
		for i, x := range got.Data {
			if math.IsNaN(x) {
				t.Fatalf("%d bits: element %d of the result is no number", m.VectorBits, i)
			}
		}
	}
}

// A row of which no key is seen has no result, wherever the keys are hidden.
func TestAttentionHidden(t *testing.T) {
	smallCaches(t)
	for _, a := range []attend{
		{b: 2, kv: 1, g: 1, s: 23, t: 40, d: 8, e: 8, document: true, causal: true, stats: true},
		{b: 1, kv: 1, g: 2, s: 9, t: 9, d: 8, e: 5, document: true, stats: true, dropout: true},
	} {
		f := parse(t, a.forward())
		r := rand.New(rand.NewSource(1))
		var args []*tensor.Tensor
		for _, v := range f.Args {
			x := irtest.Draw(r, v.Value.Type)
			if v.Value.Type.DType == ir.I32 && v.Value.Type.Has("s") {
				x.Data[3], x.Data[5] = 99, 99
			}
			args = append(args, x)
		}
		checkArgs(t, f, args)
	}
}

// Scratch is bounded, whatever the number of rows and keys.
func TestAttentionScratch(t *testing.T) {
	for _, m := range machines {
		for _, n := range []int{70, 1024, 8192, 32768} {
			a := attend{b: 1, kv: 1, g: 2, s: n, t: n, d: 64, e: 64, causal: true}
			for _, text := range []string{a.forward(), a.backward()} {
				k, err := Kernel("k", parse(t, text), m, nil)
				if err != nil {
					t.Fatal(err)
				}
				if k.ScratchBytes() > 1<<20 {
					t.Errorf("%d bits, %d positions: scratch of %d bytes", m.VectorBits, n, k.ScratchBytes())
				}
			}
		}
	}
}
