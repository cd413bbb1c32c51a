package lang

import (
	"math"
	"testing"

	"ptc/ir"
	array "ptc/ir/tensor"
)

// These tests hold the values of the standard library against loops over
// coordinates, written from the formulas.

func TestActivations(t *testing.T) {
	x := noise(1, "a", 7)
	for expr, f := range map[string]func(float64) float64{
		"relu(x)": func(x float64) float64 { return math.Max(x, 0) },
		"silu(x)": func(x float64) float64 { return x / (1 + math.Exp(-x)) },
		"gelu(x)": func(x float64) float64 { return x * 0.5 * math.Erfc(-x/math.Sqrt2) },
		"gelu_tanh(x)": func(x float64) float64 {
			return x / 2 * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*math.Pow(x, 3))))
		},
		"clamp(x, -0.5, 0.25)": func(x float64) float64 { return math.Min(math.Max(x, -0.5), 0.25) },
		"abs(x) ** 1.5":        func(x float64) float64 { return math.Pow(math.Abs(x), 1.5) },
		"x ** 2":               func(x float64) float64 { return x * x },
		"2 / (3 - x)":          func(x float64) float64 { return 2 / (3 - x) },
		"where(x > 0, 1, x)":   func(x float64) float64 { return map[bool]float64{true: 1, false: x}[x > 0] },
	} {
		near(t, expr, compute(t, "", expr, 1, input{"x", x}), func(at map[string]int) float64 { return f(elem(x, at)) })
	}
}

func TestSoftmax(t *testing.T) {
	x := noise(2, "a", 3, "b", 4, "c", 2)
	for i := range x.Data {
		x.Data[i] *= 300 // exponentials overflow unless the maximum is taken off
	}
	logsum := func(at map[string]int) float64 { // over b and c
		m := math.Inf(-1)
		for b := range 4 {
			for c := range 2 {
				m = math.Max(m, elem(x, at, "b", b, "c", c))
			}
		}
		s := 0.0
		for b := range 4 {
			for c := range 2 {
				s += math.Exp(elem(x, at, "b", b, "c", c) - m)
			}
		}
		return m + math.Log(s)
	}
	in := input{"x", x}
	near(t, "logsumexp", compute(t, "", "logsumexp(x, over = (b, c))", 1, in), logsum)
	near(t, "log_softmax", compute(t, "", "log_softmax(x, over = (b, c))", 1, in), func(at map[string]int) float64 { return elem(x, at) - logsum(at) })
	near(t, "softmax", compute(t, "", "nn.softmax(x, over = (b, c))", 1, in), func(at map[string]int) float64 { return math.Exp(elem(x, at) - logsum(at)) })
}

// moments are the mean and the mean square of x along embed.
func moments(x *array.Tensor, at map[string]int) (mean, square float64) {
	n := x.Type.Size("embed")
	for e := range n {
		v := elem(x, at, "embed", e)
		mean += v / float64(n)
		square += v * v / float64(n)
	}
	return mean, square
}

func TestNorms(t *testing.T) {
	x, gain, shift := noise(3, "batch", 3, "embed", 5), noise(4, "embed", 5), noise(5, "embed", 5)
	src := "config { embed = 5 }\nmodel M { a : nn.LayerNorm  b : nn.RMSNorm(eps = 0.5) }"
	in := []input{{"x", x}, {"a.gain", gain}, {"a.shift", shift}, {"b.gain", gain}}
	near(t, "LayerNorm", compute(t, src, "M.a(x)", 1, in...), func(at map[string]int) float64 {
		m, sq := moments(x, at)
		return (elem(x, at)-m)/math.Sqrt(sq-m*m+1e-5)*elem(gain, at) + elem(shift, at)
	})
	near(t, "RMSNorm", compute(t, src, "M.b(x)", 1, in...), func(at map[string]int) float64 {
		_, sq := moments(x, at)
		return elem(x, at) / math.Sqrt(sq+0.5) * elem(gain, at)
	})
}

func TestLayers(t *testing.T) {
	x := noise(6, "batch", 2, "embed", 3)
	w1, b1 := noise(7, "embed", 3, "ffn", 4), noise(8, "ffn", 4)
	w2, b2 := noise(9, "ffn", 4, "embed", 3), noise(10, "embed", 3)
	w3 := noise(11, "embed", 3, "ffn", 4)
	src := `config { embed = 3  ffn = 4  vocab = 5 }
model M {
  mlp : nn.MLP(act = relu)
  glu : nn.SwiGLU
  lin : nn.Linear(embed, ffn)
  emb : nn.Embedding
}`
	table := noise(12, "vocab", 5, "embed", 3)
	tokens := arr(ir.I32, "batch", 2)(4, 1)
	in := []input{{"x", x}, {"tokens", tokens}, {"mlp.w1", w1}, {"mlp.b1", b1}, {"mlp.w2", w2}, {"mlp.b2", b2}, {"glu.w1", w1}, {"glu.w3", w3},
		{"glu.w2", w2}, {"lin.w", w1}, {"lin.b", b1}, {"emb.table", table}}
	into := func(at map[string]int, w *array.Tensor, f int) (s float64) {
		for e := range 3 {
			s += elem(x, at, "embed", e) * elem(w, at, "embed", e, "ffn", f)
		}
		return s
	}
	near(t, "Linear", compute(t, src, "M.lin(x)", 1, in...), func(at map[string]int) float64 { return into(at, w1, at["ffn"]) + elem(b1, at) })
	near(t, "MLP", compute(t, src, "M.mlp(x)", 1, in...), func(at map[string]int) float64 {
		s := elem(b2, at)
		for f := range 4 {
			s += math.Max(0, into(at, w1, f)+b1.Data[f]) * elem(w2, at, "ffn", f)
		}
		return s
	})
	near(t, "SwiGLU", compute(t, src, "M.glu(x)", 1, in...), func(at map[string]int) float64 {
		s := 0.0
		for f := range 4 {
			u := into(at, w1, f)
			s += u / (1 + math.Exp(-u)) * into(at, w3, f) * elem(w2, at, "ffn", f)
		}
		return s
	})
	near(t, "Embedding", compute(t, src, "M.emb(tokens)", 1, in...), func(at map[string]int) float64 {
		return elem(table, at, "vocab", int(tokens.Data[at["batch"]]))
	})
}

func TestRoPE(t *testing.T) {
	x := noise(13, "seq", 5, "head", 6)
	got := compute(t, "config { seq = 5  head = 6 }", "nn.rope(x, base = 100.0)", 1, input{"x", x})
	near(t, "rope", got, func(at map[string]int) float64 {
		i := at["head"] % 3
		angle := float64(at["seq"]) * math.Pow(100, -2*float64(i)/6)
		a, b := elem(x, at, "head", i), elem(x, at, "head", i+3)
		if at["head"] < 3 {
			return a*math.Cos(angle) - b*math.Sin(angle)
		}
		return a*math.Sin(angle) + b*math.Cos(angle)
	})
}

func TestAttention(t *testing.T) {
	q, k, v := noise(14, "seq", 4, "heads", 2, "head", 3), noise(15, "kseq", 4, "heads", 2, "head", 3), noise(16, "kseq", 4, "heads", 2, "head", 3)
	src := "config { seq = 4  heads = 2  head = 3 }"
	got := compute(t, src, "nn.attention(q, k, v)", 1, input{"q", q}, input{"k", k}, input{"v", v})
	near(t, "attention", got, func(at map[string]int) float64 {
		num, den := 0.0, 0.0
		for j := 0; j <= at["seq"]; j++ {
			s := 0.0
			for h := range 3 {
				s += elem(q, at, "head", h) * elem(k, at, "kseq", j, "head", h)
			}
			e := math.Exp(s / math.Sqrt(3))
			num += e * elem(v, at, "kseq", j)
			den += e
		}
		return num / den
	})
}

// Grouped queries are attention in which each key and value is repeated for
// every head of its group.
func TestGroupedQueriesAreRepeatedHeads(t *testing.T) {
	const heads, kv = 6, 2
	x := noise(17, "batch", 2, "seq", 4, "embed", 5)
	wq, wo := noise(18, "embed", 5, "heads", heads, "head", 4), noise(19, "heads", heads, "head", 4, "embed", 5)
	wk, wv := noise(20, "embed", 5, "kv", kv, "head", 4), noise(21, "embed", 5, "kv", kv, "head", 4)
	src := `config { batch = 2  seq = 4  embed = 5  heads = 6  kv = 2  head = 4 }
model M { gqa : nn.GroupedQueryAttention  mha : nn.CausalAttention }
fn full(x, wq, wk, wv, wo) {
  q = nn.rope(dot(x, wq, over = embed))
  k = nn.rope(dot(x, wk, over = embed)).rename(seq = kseq)
  v = dot(x, wv, over = embed).rename(seq = kseq)
  return dot(nn.attention(q, k, v), wo, over = (heads, head))
}`
	repeat := func(w *array.Tensor) *array.Tensor {
		r := arr(ir.F32, "embed", 5, "heads", heads, "head", 4)()
		each(r.Type, func(i int, at map[string]int) { r.Data[i] = elem(w, at, "kv", at["heads"]/(heads/kv)) })
		return r
	}
	in := input{"x", x}
	got := compute(t, src, "M.gqa(x)", 1, in, input{"gqa.wq", wq}, input{"gqa.wk", wk}, input{"gqa.wv", wv}, input{"gqa.wo", wo})
	want := compute(t, src, "full(x, wq, wk, wv, wo)", 1, in, input{"wq", wq}, input{"wk", repeat(wk)}, input{"wv", repeat(wv)}, input{"wo", wo})
	near(t, "GroupedQueryAttention", got, func(at map[string]int) float64 { return elem(want, at) })
}

func TestLosses(t *testing.T) {
	x, y := noise(22, "batch", 3, "vocab", 5), noise(23, "batch", 3, "vocab", 5)
	targets := arr(ir.I32, "batch", 3)(4, 0, 2)
	ce, se := 0.0, 0.0
	for b := range 3 {
		s := 0.0
		for v := range 5 {
			s += math.Exp(x.Data[b*5+v])
			se += math.Pow(x.Data[b*5+v]-y.Data[b*5+v], 2) / 15
		}
		ce += (math.Log(s) - x.Data[b*5+int(targets.Data[b])]) / 3
	}
	in := []input{{"x", x}, {"y", y}, {"targets", targets}}
	near(t, "cross_entropy", compute(t, "", "nn.cross_entropy(x, targets, over = vocab)", 1, in...), func(map[string]int) float64 { return ce })
	loss := func(options string, targets *array.Tensor, row func(b int, z, hit, mean float64) float64, count float64) {
		t.Helper()
		want := 0.0
		for b := range 3 {
			s, mean := 0.0, 0.0
			for v := range 5 {
				s += math.Exp(x.Data[b*5+v])
				mean += x.Data[b*5+v] / 5
			}
			if n := int(targets.Data[b]); n >= 0 {
				want += row(b, math.Log(s), x.Data[b*5+n], mean) / count
			}
		}
		got := compute(t, "", "nn.cross_entropy(x, targets, over = vocab, "+options+")", 1, input{"x", x}, input{"targets", targets})
		near(t, "cross_entropy with "+options, got, func(map[string]int) float64 { return want })
	}
	loss("smoothing = 0.1", targets, func(_ int, z, hit, mean float64) float64 { return z - 0.9*hit - 0.1*mean }, 3)
	loss("z_loss = 0.5", targets, func(_ int, z, hit, _ float64) float64 { return z - hit + 0.5*z*z }, 3)
	ignored := arr(ir.I32, "batch", 3)(4, -1, 2)
	loss("masked = true", ignored, func(_ int, z, hit, _ float64) float64 { return z - hit }, 2)
	loss("masked = true, smoothing = 0.2, z_loss = 0.1", ignored, func(_ int, z, hit, mean float64) float64 {
		return z - 0.8*hit - 0.2*mean + 0.1*z*z
	}, 2)
	loss("masked = true", arr(ir.I32, "batch", 3)(-1, -100, -1), nil, 1)
	near(t, "mse", compute(t, "", "nn.mse(x, y)", 1, in...), func(map[string]int) float64 { return se })
}

func TestDropout(t *testing.T) {
	x := noise(24, "a", 40, "b", 50)
	got := compute(t, "model M { d : nn.Dropout(rate = 0.25) }", "M.d(x)", 1, input{"x", x})
	kept := 0
	for i, v := range got.Data {
		switch {
		case v == 0:
		case math.Abs(v-x.Data[i]/0.75) < 1e-12:
			kept++
		default:
			t.Fatalf("element %d is %g, from %g", i, v, x.Data[i])
		}
	}
	if kept < 1400 || kept > 1600 { // 1500 expected, deviation 19
		t.Errorf("%d of 2000 elements are kept at a rate of 0.25", kept)
	}
}

func TestSchedules(t *testing.T) {
	at := func(step int, from, to float64) float64 {
		return math.Max(0, math.Min(1, (float64(step)-from)/(to-from)))
	}
	for expr, f := range map[string]func(step int) float64{
		"constant(0.5)":                   func(int) float64 { return 0.5 },
		"linear(peak = 2.0, warmup = 10)": func(s int) float64 { return 2 * at(s, 0, 10) },
		"linear(peak = 2.0, warmup = 10, steps = 110, floor = 0.5)": func(s int) float64 {
			if s < 10 {
				return 2 * at(s, 0, 10)
			}
			return 2 - 1.5*at(s, 10, 110)
		},
		"cosine(peak = 2.0, warmup = 10, steps = 110, floor = 0.5)": func(s int) float64 {
			if s < 10 {
				return 2 * at(s, 0, 10)
			}
			return 0.5 + 1.5*(1+math.Cos(math.Pi*at(s, 10, 110)))/2
		},
		"wsd(peak = 2.0, warmup = 10, steps = 110, decay = 20, floor = 0.5)": func(s int) float64 {
			if s < 10 {
				return 2 * at(s, 0, 10)
			}
			return 2 - 1.5*at(s, 90, 110)
		},
	} {
		for _, step := range []int{1, 5, 9, 10, 11, 60, 90, 100, 110, 500} {
			got := compute(t, "", "optim."+expr, step)
			near(t, expr, got, func(map[string]int) float64 { return f(step) })
		}
	}
}

// A product over the axes of both operands, and operands that say that they have
// more axes, in every way of writing it.
func TestOuterAndBroadcast(t *testing.T) {
	a, b := noise(8, "a", 3), noise(9, "b", 4)
	in := []input{{"x", a}, {"y", b}}
	for expr, f := range map[string]func(x, y float64) float64{
		"outer(x, y)": func(x, y float64) float64 { return x * y },
		"outer(x, 2) + broadcast(y, as = f32[b = 4, a = 3])":     func(x, y float64) float64 { return 2*x + y },
		"x - broadcast(y, as = (x, y))":                          func(x, y float64) float64 { return x - y },
		"max(broadcast(x, as = [y, x]), y)":                      math.Max,
		"where(broadcast(x > 0, as = (x, y)), y, 0)":             func(x, y float64) float64 { return map[bool]float64{true: y}[x > 0] },
		"where(x > y, 1, 2)":                                     func(x, y float64) float64 { return map[bool]float64{true: 1, false: 2}[x > y] },
		"cast(x > 0 and y > 0 or x < y, f32)":                    func(x, y float64) float64 { return map[bool]float64{true: 1}[x > 0 && y > 0 || x < y] },
		"broadcast(x, as = (f32[a = 3], i32[b = 4])) ** 2 + y":   func(x, y float64) float64 { return x*x + y },
		"outer(outer(x, y), 3) + broadcast(1, as = outer(x, y))": func(x, y float64) float64 { return 3*x*y + 1 },
	} {
		got := compute(t, "", expr, 1, in...)
		if got.Type.Rank() != 2 {
			t.Errorf("%s is %s", expr, got.Type)
		}
		near(t, expr, got, func(at map[string]int) float64 { return f(elem(a, at), elem(b, at)) })
	}
}
