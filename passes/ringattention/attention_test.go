package ringattention_test

import (
	"fmt"
	"math"
	"math/rand"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/verify"
	"ptc/passes"
	"ptc/passes/check"
	"ptc/passes/pass"
	"ptc/passes/passtest"
	"ptc/passes/ringattention"
)

func TestGolden(t *testing.T) { passtest.Golden(t, "testdata/*.txtar", ringattention.Run, nil) }

// model builds attentions of all kinds over tokens that are looked up.
type model struct {
	op.Builder
	seq, heads int
	seed, step *ir.Value
	tokens     *ir.Value
	params     []*ir.Value
	paths      []string
}

func (m *model) param(path string, axes ...any) *ir.Value {
	t := ir.Type{DType: ir.F32}
	for i := 0; i < len(axes); i += 2 {
		t.Axes = append(t.Axes, ir.Axis{Name: axes[i].(string), Size: axes[i+1].(int)})
	}
	v := m.F.AddArg(t, ir.RoleParam, path, ir.A("init", ir.Term{Head: "normal", Args: ir.A("mean", ir.Float(0), "std", ir.Float(0.5))}), m.Pos)
	m.params, m.paths = append(m.params, v), append(m.paths, path)
	return v
}

func (m *model) dot(x, y *ir.Value, over ...string) *ir.Value {
	return m.Emit("dot", ir.A("over", ir.Names(over)), x, y)
}

func (m *model) rename(x *ir.Value) *ir.Value {
	return m.Emit("rename", ir.A("axes", ir.Pairs{{From: "seq", To: "kseq"}}), x)
}

func (m *model) positions() (q, k *ir.Value) {
	at := func(axis string) *ir.Value {
		return m.Emit("index", ir.A("axis", ir.Name(axis), "size", ir.Int(m.seq)))
	}
	return at("seq"), at("kseq")
}

// hide is scores where cond holds, −inf elsewhere.
func (m *model) hide(cond, s *ir.Value) *ir.Value { return m.Select(cond, s, m.Like(s, math.Inf(-1))) }

// masks change scores; each says which keys a query may see, if that is known, and so
// whether it hides later keys for certain.
var masks = []struct {
	name  string
	sees  func(q, k int) bool
	apply func(m *model, s *ir.Value) *ir.Value
}{
	{"none", nil, func(_ *model, s *ir.Value) *ir.Value { return s }},
	{"causal", before, func(m *model, s *ir.Value) *ir.Value {
		q, k := m.positions()
		return m.hide(m.Emit("ge", nil, q, k), s)
	}},
	{"causal the other way round", before, func(m *model, s *ir.Value) *ir.Value {
		q, k := m.positions()
		return m.Select(m.Emit("lt", nil, q, k), m.Like(s, math.Inf(-1)), m.Scale(s, 0.5))
	}},
	{"causal from the next key, scaled on the left", before, func(m *model, s *ir.Value) *ir.Value {
		q, k := m.positions()
		return m.Mul(m.Like(s, 0.5), m.hide(m.Emit("gt", nil, m.Add(q, m.Const(ir.I32, 1)), k), s))
	}},
	{"window", func(q, k int) bool { return k <= q && q < k+2 }, func(m *model, s *ir.Value) *ir.Value { // blocks without any key for a query
		q, k := m.positions()
		near := m.Emit("lt", nil, m.Sub(q, k), m.Const(ir.I32, 2))
		return m.hide(m.Emit("and", nil, m.Emit("le", nil, k, q), near), s)
	}},
	{"wide window", func(q, k int) bool { return k <= q && q <= k+5 }, func(m *model, s *ir.Value) *ir.Value {
		q, k := m.positions()
		return m.hide(m.Emit("ge", nil, q, k), m.Select(m.Emit("gt", nil, q, m.Add(k, m.Const(ir.I32, 5))), m.Like(s, math.Inf(-1)), s))
	}},
	{"window on both sides", func(q, k int) bool { return q-k <= 2 && k-q <= 2 }, func(m *model, s *ir.Value) *ir.Value {
		q, k := m.positions()
		two := m.Const(ir.I32, 2)
		return m.hide(m.Emit("not", nil, m.Emit("or", nil, m.Emit("gt", nil, m.Sub(q, k), two), m.Emit("lt", nil, m.Add(q, two), k))), s)
	}},
	{"window or first keys", before, func(m *model, s *ir.Value) *ir.Value {
		q, k := m.positions()
		near := m.Emit("or", nil, m.Emit("lt", nil, m.Sub(q, k), m.Const(ir.I32, 2)), m.Emit("lt", nil, k, m.Const(ir.I32, 2)))
		return m.hide(m.Emit("and", nil, m.Emit("ge", nil, q, k), near), s)
	}},
	{"later keys only", func(q, k int) bool { return q <= k }, func(m *model, s *ir.Value) *ir.Value {
		q, k := m.positions()
		return m.hide(m.Emit("le", nil, q, k), s)
	}},
	{"slope", before, func(m *model, s *ir.Value) *ir.Value { // ALiBi
		q, k := m.positions()
		far := m.Cast(m.Sub(k, q), ir.F32)
		return m.hide(m.Emit("ge", nil, q, k), m.Add(s, m.Scale(far, 0.3)))
	}},
	{"a bias for each pair", nil, func(m *model, s *ir.Value) *ir.Value {
		return m.Add(s, m.param("bias", "seq", m.seq, "kseq", m.seq))
	}},
	{"a bias for each key, of its token", before, func(m *model, s *ir.Value) *ir.Value {
		odd := m.Emit("eq", nil, m.Emit("mod", nil, m.rename(m.tokens), m.Const(ir.I32, 2)), m.Const(ir.I32, 1))
		q, k := m.positions()
		return m.hide(m.Emit("ge", nil, q, k), m.Select(odd, s, m.Sub(s, m.Like(s, 3))))
	}},
}

func before(q, k int) bool { return k <= q }

// products is how many products of queries and keys devices multiply of n positions each, and
// of how many queries: those of which some device sees something.
func products(sees func(q, k int) bool, devices, n int, order string) (count, queries int) {
	zigzag := order == "zigzag" && sees != nil && !sees(0, 1)
	chunks := func(block int) []int { return []int{block} }
	if zigzag {
		n /= 2
		chunks = func(block int) []int { return []int{block, 2*devices - 1 - block} }
	}
	// Of a step: whether some device sees a pair of chunks, high·low and the other ones apart.
	for step := range devices {
		seen := map[bool]bool{}
		for b := range devices {
			for i, q := range chunks(b) {
				for j, k := range chunks((b - step + devices) % devices) {
					for x := range n * n {
						if sees == nil || order == "zigzag" && !zigzag || sees(q*n+x/n, k*n+x%n) {
							seen[i > j] = true
						}
					}
				}
			}
		}
		count += len(seen)
	}
	if zigzag {
		count++ // the first step has low·low and high·high
	}
	return count, n
}

// shape is the other choices of an attention.
type shape struct {
	grouped, dropout, valuesFirst, noMax bool
	sink                                 sink
}

// sink is how a logit without a key is written.
type sink int

const (
	noSink   sink = iota
	ofHeads       // a term of the sum for each head
	ofTokens      // for each query, of what it is
	several       // three for each head
	column        // a column of the scores, which is dropped
)

func (m *model) attention(x *ir.Value, mask int, sh shape, at string) *ir.Value {
	e := x.Type.Size("embed")
	q := m.dot(x, m.param(at+"wq", "embed", e, "heads", m.heads, "head", 3), "embed")
	kv := "heads"
	n := m.heads
	if sh.grouped {
		kv, n = "kv", m.heads/2
		q = m.Emit("split", ir.A("axis", ir.Name("heads"), "into", ir.Sizes{{Name: "kv", N: n}, {Name: "group", N: 2}}), q)
	}
	k := m.rename(m.dot(x, m.param(at+"wk", "embed", e, kv, n, "head", 3), "embed"))
	v := m.rename(m.dot(x, m.param(at+"wv", "embed", e, kv, n, "head", 3), "embed"))
	s := masks[mask].apply(m, m.Scale(m.dot(q, k, "head"), 0.7))
	c := s
	if !sh.noMax {
		c = m.Sub(s, m.Emit("detach", nil, m.Emit("reduce_max", ir.A("over", ir.Names{"kseq"}), s)))
	}
	w := m.Emit("exp", nil, c)
	w = m.Div(w, m.Sum(w, "kseq"))
	if sh.sink != noSink {
		w = m.sunk(s, x, sh.sink, at)
	}
	if sh.dropout {
		var axes ir.Sizes
		for _, a := range w.Type.Axes {
			axes = append(axes, ir.SizeOf{Name: a.Name, N: a.Size})
		}
		u := m.Emit("random", ir.A("axes", axes, "dist", ir.Name("uniform"), "site", ir.Int(len(m.params))), m.seed, m.step)
		w = m.Select(m.Emit("ge", nil, u, m.Like(u, 0.3)), m.Scale(w, 1/0.7), m.Like(w, 0))
	}
	y := m.dot(w, v, "kseq")
	if sh.valuesFirst {
		y = m.dot(v, w, "kseq")
	}
	if sh.grouped {
		t := x.Type.Drop("embed").Names()
		y = m.Emit("transpose", ir.A("order", append(ir.Names(t), "kv", "group", "head")), y)
		y = m.Emit("merge", ir.A("axes", ir.Names{"kv", "group"}, "into", ir.Name("heads")), y)
	}
	return m.Add(x, m.dot(y, m.param(at+"wo", "heads", m.heads, "head", 3, "embed", e), "heads", "head"))
}

// sunk is the softmax of scores, made of x, with sinks.
func (m *model) sunk(s, x *ir.Value, how sink, at string) *ir.Value {
	var axes []any
	for _, a := range s.Type.Axes {
		if a.Name != "batch" && a.Name != "seq" && a.Name != "kseq" {
			axes = append(axes, a.Name, a.Size)
		}
	}
	softmax := func(s, t *ir.Value, over ...string) *ir.Value {
		most := m.Emit("reduce_max", ir.A("over", ir.Names{"kseq"}), s)
		if len(over) > 0 {
			most = m.Emit("max", nil, most, m.Emit("reduce_max", ir.A("over", ir.Names(over)), t))
		} else if t != nil {
			most = m.Emit("max", nil, most, t)
		}
		most = m.Emit("detach", nil, most)
		e := m.Emit("exp", nil, m.Sub(s, most))
		l := m.Sum(e, "kseq")
		if t != nil {
			r := m.Emit("exp", nil, m.Sub(t, most))
			if len(over) > 0 {
				r = m.Sum(r, over...)
			}
			l = m.Add(r, l)
		}
		return m.Div(e, l)
	}
	switch how {
	case ofTokens:
		return softmax(s, m.dot(x, m.param(at+"sink", append([]any{"embed", x.Type.Size("embed")}, axes...)...), "embed"))
	case several:
		return softmax(s, m.param(at+"sink", append(axes, "sinks", 3)...), "sinks")
	case column:
		one := s.Type.Clone()
		for i := range one.Axes {
			if one.Axes[i].Name == "kseq" {
				one.Axes[i].Size = 1
			}
		}
		all := m.Emit("concat", ir.A("axis", ir.Name("kseq")), s, m.Broadcast(m.param(at+"sink", axes...), one))
		return m.Emit("slice", ir.A("axis", ir.Name("kseq"), "start", ir.Int(0), "limit", ir.Int(m.seq)), softmax(all, nil))
	}
	return softmax(s, m.param(at+"sink", axes...))
}

// build is a module with two attentions, a loss and its gradients.
func build(seq, devices, mask int, sh shape, order string) *ir.Module {
	f := &ir.Func{Name: "step", Class: ir.Entry}
	m := &model{Builder: op.Builder{F: f}, seq: seq, heads: 2}
	table, places := m.param("wte", "vocab", 11, "embed", 4), m.param("wpe", "seq", seq, "embed", 4)
	ints := ir.Type{DType: ir.I32, Axes: []ir.Axis{{Name: "batch", Size: 2}, {Name: "seq", Size: seq}}}
	m.tokens = f.AddArg(ints, ir.RoleData, "tokens", nil, m.Pos)
	m.step = f.AddArg(ir.Scalar(ir.I32), ir.RoleStep, "", nil, m.Pos)
	m.seed = f.AddArg(ir.Scalar(ir.I32), ir.RoleSeed, "", nil, m.Pos)
	x := m.Add(m.Emit("gather", ir.A("axis", ir.Name("vocab")), table, m.tokens), places)
	x = m.attention(x, mask, sh, "a.")
	// Something that treats positions differently, between the two.
	first := m.Emit("slice", ir.A("axis", ir.Name("seq"), "start", ir.Int(0), "limit", ir.Int(1)), x)
	x = m.Add(x, m.Sum(m.Scale(first, 0.1), "seq"))
	x = m.attention(x, 1, shape{}, "b.")
	loss := m.Sum(m.Mul(m.Mul(x, x), m.param("scale", "seq", seq)), "batch", "seq", "embed")
	f.Results = []ir.Result{{Value: loss, Role: ir.RoleLoss}}
	grads, err := m.TryEmit("grad", append([]*ir.Value{loss}, m.params...), nil)
	if err != nil {
		panic(err)
	}
	for i, g := range grads {
		f.Results = append(f.Results, ir.Result{Value: g, Role: ir.RoleGrad, Path: m.paths[i]})
	}
	rule := ir.Term{Head: "shard", Args: ir.A("axes", ir.Names{"seq"}, "over", ir.Names{"cp"}, "at", ir.Str("test.ptl:1:1"))}
	if order != "" {
		rule.Args = rule.Args.With("order", ir.Name(order))
	}
	return &ir.Module{Name: "m", Mesh: []ir.MeshAxis{{Name: "cp", Size: devices}}, Funcs: []*ir.Func{f},
		Meta: []ir.Term{{Head: "layout", Args: ir.A("name", ir.Str("l"), "rules", ir.Terms{rule})}}}
}

// TestAttentions runs every pass over attentions of all kinds, in both orders,
// and executes what all devices do after each.
func TestAttentions(t *testing.T) {
	r := rand.New(rand.NewSource(1))
	flip := func() bool { return r.Intn(3) == 0 }
	for _, order := range []string{"contiguous", "zigzag"} {
		for mask, k := range masks {
			for i := range 3 {
				devices := []int{2, 3, 4}[i]
				sh := shape{flip(), flip(), flip(), k.name == "none" && flip(), sink(r.Intn(5))}
				t.Run(fmt.Sprintf("%s/%s/%d %+v", order, k.name, devices, sh), func(t *testing.T) {
					c := runAll(t, build(4*devices, devices, mask, sh, order))
					want := "a ring of"
					if perPair := sh.dropout || k.name == "a bias for each pair"; perPair && order == "zigzag" {
						want = "of each query and key"
					}
					text := first(c, "context")
					if !strings.Contains(text, want) {
						t.Errorf("remark %q, want %q", text, want)
					}
					count, queries := products(k.sees, devices, 4, order)
					if how := fmt.Sprintf(" %d products of %d queries", count, queries); want == "a ring of" && !strings.Contains(text, how) {
						t.Errorf("remark %q, want%s", text, how)
					}
				})
			}
		}
	}
}

// runAll runs and checks every pass.
func runAll(t *testing.T, m *ir.Module) *pass.Context {
	t.Helper()
	if errs := verify.Module(m); len(errs) > 0 {
		t.Fatal(errs)
	}
	k := check.New(1)
	c := &pass.Context{}
	err := passes.Run(c, m, &passes.Options{VerifyEach: true, Hooks: []passes.Hook{k.Hook}})
	for _, r := range k.Report.Rows {
		if !r.OK {
			t.Errorf("%s changed the result (%s): %s by %.3g, tolerance %.3g", r.Pass, r.Kind, r.Worst, r.Diff, r.Tol)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func first(c *pass.Context, name string) string {
	for _, r := range c.Remarks {
		if r.Pass == name {
			return r.Text
		}
	}
	return ""
}

// TestLogicalOrderOutside: the order changes no argument and no result, so neither data
// nor parameters, nor what is saved of them.
func TestLogicalOrderOutside(t *testing.T) {
	m := build(8, 2, 1, shape{}, "zigzag")
	before := m.Clone()
	if err := ringattention.Run(&pass.Context{}, m); err != nil {
		t.Fatal(err)
	}
	f, g := before.Funcs[0], m.Funcs[0]
	for i, a := range f.Args {
		if b := g.Args[i]; a.Path != b.Path || !a.Value.Type.Equal(b.Value.Type) {
			t.Errorf("argument %s %s became %s %s", a.Path, a.Value.Type, b.Path, b.Value.Type)
		}
	}
	passtest.Same(t, before, m)
}
