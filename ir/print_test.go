package ir_test

import (
	"math"
	"math/rand"
	"strconv"
	"strings"
	"testing"
	"time"

	"ptc/internal/diag"
	"ptc/internal/dtype"
	"ptc/ir"
)

// sample has every kind of line and of attribute value.
const sample = `ptir 1 sharded "GPT \"small\""
mesh dp=2, tp=2
meta config(batch=8, embed=384)
meta layout(name="three_d", rules=[shard(axes=(batch), over=(dp)), pipeline(schedule=1f1b)])
meta empty()

func @step class=entry
  arg %0 : f32[vocab=256@tp, embed=384] param "wte" init=normal(mean=0.0, std=0.02) // gpt.ptl:31:3
  arg %1 : i32[batch=8@dp@tp, seq=256] data "tokens"
  arg %2 : i32[] step
  arg %3 : bool[] a=1
  %12 : bf16[batch=8@dp, seq=256, ffn=1536] partial(tp) = dot %0, %1 over=(embed) // blocks.3.mlp gpt.ptl:24:7
  %13 : f32[] partial(max dp, tp), %14 : f32[] = call %12, %2 fn=@k3 // "a scope" "my file.ptl":1:2
  _ = call fn=@k3 // "a:b"
  %7 : f16[] = x a=() b=[] c=[()] d={} e={:} f=[-1, 2] g={seq=4, k=8} h={seq:kseq} i=-inf j=nan k=1e-05 l=true m="\x00\n" n=f32 o=-3 p=-0.0 // "":3:0
  %15 : f64[] = add %7, %7 // blocks.0
  %8 : bf16[seq=256, vocab=25129+7@tp] = add %7, %7
  %16 : f32[größe=2, x̂=3@dp] = x_ä über=(größe, x̂) ключ=数 // "blöcke.0" "ä.ptl":1:2
  result %12 loss
  result %7 param "wte" at=64
  result %15
end

func @k3
end
`

func parse(t *testing.T, text string) *ir.Module {
	t.Helper()
	m, errs := ir.Parse("a.ptir", []byte(text))
	if len(errs) > 0 {
		t.Fatalf("parse: %v\n%s", errs, text)
	}
	return m
}

func TestPrintParseIsIdentity(t *testing.T) {
	m := parse(t, sample)
	if got := ir.Print(m); got != sample {
		t.Errorf("got\n%s\nwant\n%s", got, sample)
	}
	if got := ir.Print(m.Clone()); got != sample {
		t.Errorf("clone prints as\n%s", got)
	}
	if got := ir.PrintFunc(m.Funcs[1]); got != "func @k3\nend\n" {
		t.Errorf("PrintFunc: %q", got)
	}
}

func TestParseStructure(t *testing.T) {
	m := parse(t, sample)
	f := m.Func("step")
	if m.Level != ir.Sharded || m.Name != `GPT "small"` || m.Devices() != 4 || len(m.Meta) != 3 {
		t.Errorf("module: %+v", m)
	}
	a := f.Arg(ir.RoleParam, "wte")
	if a.Pos != (diag.Pos{File: "gpt.ptl", Line: 31, Col: 3}) {
		t.Errorf("position of wte: %v", a.Pos)
	}
	if init, ok := a.Attrs.Get("init").(ir.Term); !ok || init.Args.Float("std", 0) != 0.02 {
		t.Errorf("init: %v", a.Attrs)
	}
	dot := f.Ops[0]
	if dot.Args[0] != a.Value || dot.Results[0].Def != dot || dot.Scope != "blocks.3.mlp" || dot.Pos.Line != 24 {
		t.Errorf("dot: %+v", dot)
	}
	call := f.Ops[1]
	if call.Scope != "a scope" || call.Pos.File != "my file.ptl" || len(call.Results) != 2 {
		t.Errorf("call: %+v", call)
	}
	if p := call.Results[0].Type.Partial; len(p) != 2 || p[0] != (ir.Partial{Mesh: "dp", Reduce: "max"}) {
		t.Errorf("partial: %v", p)
	}
	x := f.Ops[3].Attrs
	if !math.IsInf(x.Float("i", 0), -1) || !math.IsNaN(x.Float("j", 0)) || !math.Signbit(x.Float("p", 0)) || x.Text("m") != "\x00\n" {
		t.Errorf("attributes: %v", x)
	}
	if v := f.NewValue(ir.Scalar(ir.F32), nil); v.ID != 17 {
		t.Errorf("a fresh value is %%%d", v.ID)
	}
}

// TestParseAccepts lists text that reads well though Print writes it
// otherwise.
func TestParseAccepts(t *testing.T) {
	text := "// a comment\r\n\nptir 1 global \"\"  // the header\r\nmesh dp=2\nmesh  tp = 2\n" +
		"func @f b=1 a = 2 // f\n\targ %4:f32[a = 2 , b=3]z = 1 // what this is for\n // more\n" +
		"  %5 :f32[] =  neg   %4 // \nresult %5\nend"
	want := "ptir 1 global \"\"\nmesh dp=2, tp=2\n\nfunc @f a=2 b=1\n  arg %4 : f32[a=2, b=3] z=1\n" +
		"  %5 : f32[] = neg %4\n  result %5\nend\n"
	if got := ir.Print(parse(t, text)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRandomModulesRoundTrip(t *testing.T) {
	for seed := int64(0); seed < 300; seed++ {
		g := generator{r: rand.New(rand.NewSource(seed))}
		m := g.module(1+g.r.Intn(3), 20)
		text := ir.Print(m)
		if again := ir.Print(parse(t, text)); again != text {
			t.Fatalf("seed %d: printed\n%s\nand after parsing\n%s", seed, text, again)
		}
	}
}

// TestLargeModule guards against work that grows faster than the text: ten
// times the operations may take a few times ten times as long, no more.
func TestLargeModule(t *testing.T) {
	g := generator{r: rand.New(rand.NewSource(1))}
	cost := func(ops int) time.Duration {
		m := g.module(1, ops)
		best := time.Duration(math.MaxInt64)
		for i := 0; i < 3; i++ {
			start := time.Now()
			parse(t, ir.Print(m))
			best = min(best, time.Since(start))
		}
		return best
	}
	// On a busy machine one measurement means little; work that grows too fast
	// fails all of them.
	var small, large time.Duration
	for range 8 {
		if small, large = cost(2000), cost(20000); large <= 60*small+50*time.Millisecond {
			return
		}
	}
	t.Errorf("2,000 operations took %v, 20,000 took %v", small, large)
}

// BenchmarkPrint and BenchmarkParse are for 10,000 operations, about a GPT-2
// training step.
func BenchmarkPrint(b *testing.B) {
	g := generator{r: rand.New(rand.NewSource(1))}
	m := g.module(1, 10000)
	b.ReportAllocs()
	for b.Loop() {
		b.SetBytes(int64(len(ir.Print(m))))
	}
}

func BenchmarkParse(b *testing.B) {
	g := generator{r: rand.New(rand.NewSource(1))}
	text := []byte(ir.Print(g.module(1, 10000)))
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, errs := ir.Parse("a.ptir", text); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}

// generator makes modules that are well formed but mean nothing.
type generator struct{ r *rand.Rand }

func (g generator) module(funcs, ops int) *ir.Module {
	m := &ir.Module{Level: ir.Level(g.r.Intn(5)), Name: g.text(), Mesh: []ir.MeshAxis{{Name: "dp", Size: 2}, {Name: "tp", Size: 4}}}
	for i := g.r.Intn(4); i > 0; i-- {
		m.Meta = append(m.Meta, g.term(0))
	}
	for i := 0; i < funcs; i++ {
		m.Funcs = append(m.Funcs, g.function("f"+strconv.Itoa(i), ops))
	}
	return m
}

func (g generator) function(name string, ops int) *ir.Func {
	f := &ir.Func{Name: name, Attrs: g.attrs(0)}
	f.Adopt(g.r.Intn(10))
	var vals []*ir.Value
	for i := g.r.Intn(5); i > 0; i-- {
		vals = append(vals, f.AddArg(g.typ(), []string{"", "param", "in"}[g.r.Intn(3)], g.text(), g.attrs(0), g.pos()))
	}
	for i := 0; i < ops; i++ {
		var args []*ir.Value
		for j := g.r.Intn(4); j > 0 && len(vals) > 0; j-- {
			args = append(args, vals[g.r.Intn(len(vals))])
		}
		types := make([]ir.Type, g.r.Intn(3))
		for j := range types {
			types[j] = g.typ()
		}
		o := f.NewOp("op"+strconv.Itoa(g.r.Intn(9)), args, g.attrs(0), types...)
		o.Scope, o.Pos = g.text(), g.pos()
		f.Ops = append(f.Ops, o)
		vals = append(vals, o.Results...)
	}
	for i := g.r.Intn(4); i > 0 && len(vals) > 0; i-- {
		f.Results = append(f.Results, ir.Result{Value: vals[g.r.Intn(len(vals))], Role: "loss", Path: g.text(), Attrs: g.attrs(0)})
	}
	return f
}

func (g generator) typ() ir.Type {
	t := ir.Type{DType: dtype.Tensors()[g.r.Intn(len(dtype.Tensors()))]}
	for i := g.r.Intn(5); i > 0; i-- {
		a := ir.Axis{Name: []string{"axis", "größe", "x̂_", "数.é"}[g.r.Intn(4)] + strconv.Itoa(i), Size: 1 + g.r.Intn(1000)}
		if g.r.Intn(3) == 0 {
			a.Mesh = []string{"dp", "tp"}[:1+g.r.Intn(2)]
		}
		t.Axes = append(t.Axes, a)
	}
	if g.r.Intn(4) == 0 {
		t.Partial = []ir.Partial{{Mesh: "dp", Reduce: "sum"}, {Mesh: "tp", Reduce: "max"}}[:1+g.r.Intn(2)]
	}
	return t
}

func (g generator) attrs(depth int) ir.Attrs {
	var as ir.Attrs
	for i := g.r.Intn(3); i > 0; i-- {
		as = as.With([]string{"key", "κλειδί"}[g.r.Intn(2)]+strconv.Itoa(g.r.Intn(20)), g.val(depth))
	}
	return as
}

func (g generator) term(depth int) ir.Term {
	return ir.Term{Head: "head" + strconv.Itoa(g.r.Intn(5)), Args: g.attrs(depth + 1)}
}

func (g generator) val(depth int) ir.AttrVal {
	switch n := g.r.Intn(12); {
	case n == 0:
		return ir.Int(g.r.Uint64())
	case n == 1:
		return ir.Float(math.Float64frombits(g.r.Uint64()))
	case n == 2:
		return ir.BoolVal(g.r.Intn(2) == 0)
	case n == 3:
		return ir.Str(g.text())
	case n == 4:
		return ir.Name([]string{"uniform", "f32", "1f1b", "inf", "_x.y"}[g.r.Intn(5)])
	case n == 5:
		return ir.Names([]string{"a", "b", "c"}[:g.r.Intn(4)])
	case n == 6:
		return ir.Ints([]int64{-1, 0, math.MinInt64}[:g.r.Intn(4)])
	case n == 7:
		return ir.Sizes([]ir.SizeOf{{Name: "a", N: 1}, {Name: "b", N: 1 << 30}}[:g.r.Intn(3)])
	case n == 8:
		return ir.Pairs([]ir.Pair{{From: "a", To: "b"}, {From: "c", To: "a"}}[:g.r.Intn(3)])
	case n == 9:
		return ir.Sym("f" + strconv.Itoa(g.r.Intn(3)))
	case n == 10 && depth < 4:
		var ts ir.Terms
		for i := g.r.Intn(3); i > 0; i-- {
			ts = append(ts, g.term(depth+1))
		}
		return ts
	case depth < 4:
		return g.term(depth)
	}
	return ir.Int(0)
}

func (g generator) text() string {
	return []string{"", "blocks.3.mlp", "a b", "a:b", "\"", "ä\xff\n", "x//y", "a:1:2", strings.Repeat("z", 30)}[g.r.Intn(9)]
}

func (g generator) pos() diag.Pos {
	return diag.Pos{File: g.text(), Line: g.r.Intn(3), Col: g.r.Intn(3)}
}
