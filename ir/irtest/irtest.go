// Package irtest builds modules for tests of passes and backends, which may
// not import the language, and draws and compares the tensors of kernel functions.
//
// In: sizes, seeds. Out: modules of ir(Global) with a training step; texts of kernel functions of
// attention; arguments.
// For tests only. Imports ir, ir/op, ir/tensor.
package irtest

import (
	"fmt"
	"math"

	"ptc/ir"
	"ptc/ir/op"
)

// Sizes of [Transformer].
type Sizes struct {
	Layers, Batch, Seq, Heads, Head, FFN, Vocab int
	Dropout                                     bool
	Sinks                                       bool // each head has a learned logit in the softmax's sum that no key has
}

// Small is a transformer of odd sizes, so that tails of vectors occur.
var Small = Sizes{Layers: 2, Batch: 2, Seq: 9, Heads: 3, Head: 4, FFN: 37, Vocab: 23, Dropout: true}

type model struct {
	b          op.Builder
	s          Sizes
	params     []*ir.Value
	paths      []string
	seed, step *ir.Value
	site       int64
}

// Transformer is a decoder with tied embeddings, pre-layer-normalization,
// causal attention with rotated queries and keys, a gelu MLP, cross-entropy
// loss, global-norm clipping and AdamW: @step and @eval.
func Transformer(s Sizes) *ir.Module {
	m := &ir.Module{Name: "transformer"}
	m.Funcs = append(m.Funcs, s.entry("step", true), s.entry("eval", false))
	return m
}

func (s Sizes) entry(name string, train bool) *ir.Func {
	f := &ir.Func{Name: name, Class: ir.Entry}
	m := &model{b: op.Builder{F: f}, s: s}
	e := s.Heads * s.Head
	wte := m.param("wte", 0.3, "vocab", s.Vocab, "embed", e)
	wpe := m.param("wpe", 0.3, "seq", s.Seq, "embed", e)
	layers := make([]map[string]*ir.Value, s.Layers)
	for i := range layers {
		layers[i] = m.layerParams(fmt.Sprintf("blocks.%d.", i), e)
	}
	g, bias := m.param("ln.g", 0, "embed", e), m.param("ln.b", 0, "embed", e)
	ints := ir.Type{DType: ir.I32, Axes: []ir.Axis{{Name: "batch", Size: s.Batch}, {Name: "seq", Size: s.Seq}}}
	tokens := f.AddArg(ints.Clone(), ir.RoleData, "tokens", nil, m.b.Pos)
	targets := f.AddArg(ints.Clone(), ir.RoleData, "targets", nil, m.b.Pos)
	if train {
		m.step = f.AddArg(ir.Scalar(ir.I32), ir.RoleStep, "", nil, m.b.Pos)
		m.seed = f.AddArg(ir.Scalar(ir.I32), ir.RoleSeed, "", nil, m.b.Pos)
	}
	b := &m.b
	x := b.Add(b.Emit(op.Gather, ir.A("axis", ir.Name("vocab")), wte, tokens), wpe)
	for i, p := range layers {
		b.Scope = fmt.Sprintf("blocks.%d", i)
		x = b.Add(x, m.dropout(m.attention(m.norm(x, p["ln1.g"], p["ln1.b"]), p)))
		x = b.Add(x, m.mlp(m.norm(x, p["ln2.g"], p["ln2.b"]), p))
	}
	b.Scope = "loss"
	logits := m.dot(m.norm(x, g, bias), wte, "embed")
	loss := m.crossEntropy(logits, targets)
	f.Results = []ir.Result{{Value: loss, Role: ir.RoleLoss}}
	if train {
		m.update(loss)
	}
	return f
}

func (m *model) param(path string, std float64, axes ...any) *ir.Value {
	t := ir.Type{DType: ir.F32}
	for i := 0; i < len(axes); i += 2 {
		t.Axes = append(t.Axes, ir.Axis{Name: axes[i].(string), Size: axes[i+1].(int)})
	}
	init := ir.Term{Head: "normal", Args: ir.A("mean", ir.Float(0), "std", ir.Float(std))}
	if std == 0 {
		init = ir.Term{Head: "ones"}
	}
	v := m.b.F.AddArg(t, ir.RoleParam, path, ir.A("init", init), m.b.Pos)
	m.params, m.paths = append(m.params, v), append(m.paths, path)
	return v
}

func (m *model) layerParams(at string, e int) map[string]*ir.Value {
	s := m.s
	p := map[string]*ir.Value{}
	add := func(name string, std float64, axes ...any) { p[name] = m.param(at+name, std, axes...) }
	add("ln1.g", 0, "embed", e)
	add("ln1.b", 0, "embed", e)
	for _, w := range []string{"wq", "wk", "wv"} {
		add(w, 0.3, "embed", e, "heads", s.Heads, "head", s.Head)
	}
	add("wo", 0.3, "heads", s.Heads, "head", s.Head, "embed", e)
	if s.Sinks {
		add("sinks", 1, "heads", s.Heads)
	}
	add("ln2.g", 0, "embed", e)
	add("ln2.b", 0, "embed", e)
	add("w1", 0.3, "embed", e, "ffn", s.FFN)
	add("b1", 0.3, "ffn", s.FFN)
	add("w2", 0.3, "ffn", s.FFN, "embed", e)
	return p
}

func (m *model) dot(x, y *ir.Value, over ...string) *ir.Value {
	return m.b.Emit(op.Dot, ir.A("over", ir.Names(over)), x, y)
}

func (m *model) mean(x *ir.Value, axis string) *ir.Value {
	return m.b.Scale(m.b.Sum(x, axis), 1/float64(x.Type.Size(axis)))
}

func (m *model) norm(x, g, bias *ir.Value) *ir.Value {
	b := &m.b
	c := b.Sub(x, m.mean(x, "embed"))
	v := m.mean(b.Mul(c, c), "embed")
	n := b.Mul(c, b.Emit(op.Rsqrt, nil, b.Add(v, b.Like(v, 1e-5))))
	return b.Add(b.Mul(n, g), bias)
}

// rotate is rotary position embedding (Su et al., RoFormer, 2021): pairs of
// the two halves of head turn by an angle that grows with the position.
func (m *model) rotate(x *ir.Value, half int) *ir.Value {
	b := &m.b
	n := x.Type.Size("seq")
	pos := b.Cast(b.Emit(op.Index, ir.A("axis", ir.Name("seq"), "size", ir.Int(n))), ir.F32)
	k := b.Cast(b.Emit(op.Index, ir.A("axis", ir.Name("head"), "size", ir.Int(half))), ir.F32)
	angle := b.Mul(pos, b.Emit(op.Exp, nil, b.Scale(k, -math.Log(10000)/float64(half))))
	sin, cos := b.Emit(op.Sin, nil, angle), b.Emit(op.Cos, nil, angle)
	part := func(lo int) *ir.Value {
		return b.Emit(op.Slice, ir.A("axis", ir.Name("head"), "start", ir.Int(lo), "limit", ir.Int(lo+half)), x)
	}
	x1, x2 := part(0), part(half)
	return b.Emit(op.Concat, ir.A("axis", ir.Name("head")),
		b.Sub(b.Mul(x1, cos), b.Mul(x2, sin)), b.Add(b.Mul(x1, sin), b.Mul(x2, cos)))
}

func (m *model) attention(x *ir.Value, p map[string]*ir.Value) *ir.Value {
	b, s := &m.b, m.s
	rename := func(v *ir.Value) *ir.Value {
		return b.Emit(op.Rename, ir.A("axes", ir.Pairs{{From: "seq", To: "kseq"}}), v)
	}
	q := m.rotate(m.dot(x, p["wq"], "embed"), s.Head/2)
	k := rename(m.rotate(m.dot(x, p["wk"], "embed"), s.Head/2))
	v := rename(m.dot(x, p["wv"], "embed"))
	a := b.Scale(m.dot(q, k, "head"), 1/math.Sqrt(float64(s.Head)))
	i := b.Emit(op.Index, ir.A("axis", ir.Name("seq"), "size", ir.Int(s.Seq)))
	j := b.Emit(op.Index, ir.A("axis", ir.Name("kseq"), "size", ir.Int(s.Seq)))
	a = b.Select(b.Emit(op.Ge, nil, i, j), a, b.Like(a, math.Inf(-1)))
	top := b.Emit(op.ReduceMax, ir.A("over", ir.Names{"kseq"}), a)
	if s.Sinks {
		top = b.Emit(op.Max, nil, top, p["sinks"])
	}
	top = b.Emit(op.Detach, nil, top)
	e := b.Emit(op.Exp, nil, b.Sub(a, top))
	sum := b.Sum(e, "kseq")
	if s.Sinks {
		sum = b.Add(sum, b.Emit(op.Exp, nil, b.Sub(p["sinks"], top)))
	}
	w := b.Div(e, sum)
	return m.dot(m.dot(w, v, "kseq"), p["wo"], "heads", "head")
}

func (m *model) mlp(x *ir.Value, p map[string]*ir.Value) *ir.Value {
	b := &m.b
	h := b.Add(m.dot(x, p["w1"], "embed"), p["b1"])
	gelu := b.Mul(b.Scale(h, 0.5), b.Add(b.Emit(op.Erf, nil, b.Scale(h, 1/math.Sqrt2)), b.Like(h, 1)))
	return m.dot(gelu, p["w2"], "ffn")
}

func (m *model) dropout(x *ir.Value) *ir.Value {
	if !m.s.Dropout || m.step == nil {
		return x
	}
	b := &m.b
	var axes ir.Sizes
	for _, a := range x.Type.Axes {
		axes = append(axes, ir.SizeOf{Name: a.Name, N: a.Size})
	}
	m.site++
	u := b.Emit(op.Random, ir.A("axes", axes, "dist", ir.Name("uniform"), "site", ir.Int(m.site)), m.seed, m.step)
	keep := b.Emit(op.Ge, nil, u, b.Like(u, 0.1))
	return b.Select(keep, b.Scale(x, 1/0.9), b.Like(x, 0))
}

func (m *model) crossEntropy(x, targets *ir.Value) *ir.Value {
	b := &m.b
	top := b.Emit(op.Detach, nil, b.Emit(op.ReduceMax, ir.A("over", ir.Names{"vocab"}), x))
	c := b.Sub(x, top)
	lse := b.Emit(op.Log, nil, b.Sum(b.Emit(op.Exp, nil, c), "vocab"))
	at := b.Emit(op.Eq, nil, b.Emit(op.Index, ir.A("axis", ir.Name("vocab"), "size", ir.Int(m.s.Vocab))), targets)
	nll := b.Sub(lse, b.Sum(b.Select(at, c, b.Like(c, 0)), "vocab"))
	return b.Scale(b.Sum(nll, "batch", "seq"), 1/float64(nll.Type.Elems()))
}

func (m *model) update(loss *ir.Value) {
	b, f := &m.b, m.b.F
	b.Scope = "optimizer"
	grads, err := b.TryEmit(op.Grad, append([]*ir.Value{loss}, m.params...), nil)
	if err != nil {
		panic(err)
	}
	norm := b.Const(ir.F32, 0)
	for i, g := range grads {
		f.Results = append(f.Results, ir.Result{Value: g, Role: ir.RoleGrad, Path: m.paths[i]})
		norm = b.Add(norm, b.Sum(b.Mul(g, g), g.Type.Names()...))
	}
	norm = b.Emit(op.Sqrt, nil, norm)
	clip := b.Emit(op.Min, nil, b.Like(norm, 1), b.Div(b.Like(norm, 1), norm))
	lr := b.Scale(b.Emit(op.Min, nil, b.Cast(m.step, ir.F32), b.Const(ir.F32, 100)), 1e-5)
	for i, g := range grads {
		m.adamw(m.params[i], b.Mul(g, clip), lr, m.paths[i])
	}
	f.Results = append(f.Results,
		ir.Result{Value: norm, Role: ir.RoleStat, Path: "grad_norm"},
		ir.Result{Value: lr, Role: ir.RoleStat, Path: "lr"})
}

func (m *model) adamw(p, g, lr *ir.Value, path string) {
	b, f := &m.b, m.b.F
	zeros := ir.A("init", ir.Term{Head: "zeros"})
	m1 := f.AddArg(p.Type.Clone(), ir.RoleState, path+"/m", zeros, b.Pos)
	m2 := f.AddArg(p.Type.Clone(), ir.RoleState, path+"/v", zeros, b.Pos)
	n1 := b.Add(b.Scale(m1, 0.9), b.Scale(g, 0.1))
	n2 := b.Add(b.Scale(m2, 0.99), b.Scale(b.Mul(g, g), 0.01))
	u := b.Div(n1, b.Add(b.Emit(op.Sqrt, nil, n2), b.Like(n2, 1e-8)))
	q := b.Sub(p, b.Mul(lr, b.Add(u, b.Scale(p, 0.1))))
	f.Results = append(f.Results,
		ir.Result{Value: q, Role: ir.RoleParam, Path: path},
		ir.Result{Value: n1, Role: ir.RoleState, Path: path + "/m"},
		ir.Result{Value: n2, Role: ir.RoleState, Path: path + "/v"})
}

// Rounding is by which v may differ, as Worst has it, where sums are in another order: more where what it is
// computed of is rounded to 16 bits on the way.
func Rounding(v *ir.Value) float64 {
	most := 1e-4
	seen := map[*ir.Value]bool{}
	var visit func(v *ir.Value)
	visit = func(v *ir.Value) {
		if seen[v] || v.Def == nil {
			return
		}
		seen[v] = true
		switch v.Type.DType {
		case ir.BF16:
			most = max(most, 2e-2)
		case ir.F16:
			most = max(most, 2e-3)
		}
		for _, a := range v.Def.Args {
			visit(a)
		}
	}
	visit(v)
	return most
}
