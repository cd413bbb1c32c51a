package verify_test

import (
	"fmt"
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/internal/golden"
	"ptc/ir"
	"ptc/ir/verify"
)

func parse(t *testing.T, text string) *ir.Module {
	t.Helper()
	m, errs := ir.Parse("a.ptir", []byte(text))
	if len(errs) > 0 {
		t.Fatalf("parse: %v\n%s", errs, text)
	}
	return m
}

// TestArchives verifies modules one by one; a sound one has an empty section.
func TestArchives(t *testing.T) {
	golden.Run(t, "testdata/*.txtar", func(t *testing.T, c *golden.Case) {
		cases := 0
		for n := 1; c.Has(fmt.Sprintf("%d.ptir", n)); n++ {
			m := parse(t, c.Input(fmt.Sprintf("%d.ptir", n)))
			text := ""
			if errs := verify.Module(m); len(errs) > 0 {
				text = errs.Error()
			}
			c.Output(fmt.Sprintf("%d.txt", n), text)
			cases++
		}
		if cases == 0 {
			t.Error("no case")
		}
	})
}

const sound = `ptir 1 sharded "m"
mesh dp=2, tp=2

func @step class=entry
  arg %0 : f32[batch=8@dp, embed=4] data "x"
  arg %1 : f32[embed=4] param "w"
  arg %2 : i32[] step
  %3 : f32[batch=8@dp, embed=4] = mul %0, %1 // blocks.0 a.ptl:3:7
  %4 : f32[] partial(dp) = reduce_sum %3 over=(batch, embed)
  result %4 loss
  result %1 param "w"
end
`

// TestBrokenByPass breaks what no text can express.
func TestBrokenByPass(t *testing.T) {
	for _, c := range []struct {
		name    string
		breakIt func(m *ir.Module, f *ir.Func)
		want    string
	}{
		{"nothing", func(m *ir.Module, f *ir.Func) {}, ""},
		{"value of another function", func(m *ir.Module, f *ir.Func) {
			f.Ops[0].Args[0] = m.Clone().Funcs[0].Args[0].Value
		}, "operand 1, %0, is not defined before"},
		{"operations swapped", func(m *ir.Module, f *ir.Func) { f.Ops[0], f.Ops[1] = f.Ops[1], f.Ops[0] }, "operand 1, %3, is not defined before"},
		{"operation twice", func(m *ir.Module, f *ir.Func) { f.Ops = append(f.Ops, f.Ops[0]) }, "value %3 is defined twice"},
		{"number twice", func(m *ir.Module, f *ir.Func) { f.Ops[0].Results[0].ID = 1 }, "two values are numbered %1"},
		{"definition forgotten", func(m *ir.Module, f *ir.Func) { f.Ops[0].Results[0].Def = nil }, "names another definition"},
		{"operand missing", func(m *ir.Module, f *ir.Func) { f.Ops[0].Args[1] = nil }, "operand 2 is missing"},
		{"result missing", func(m *ir.Module, f *ir.Func) { f.Ops[0].Results[0] = nil }, "a value is missing"},
		{"argument missing", func(m *ir.Module, f *ir.Func) { f.Args[0].Value = nil }, "a value is missing"},
		{"function result missing", func(m *ir.Module, f *ir.Func) { f.Results[0].Value = nil }, "its value is not defined"},
		{"operation removed", func(m *ir.Module, f *ir.Func) { f.Ops = f.Ops[:1] }, "its value is not defined"},
		{"function twice", func(m *ir.Module, f *ir.Func) { m.Funcs = append(m.Funcs, f) }, "function @step is defined twice"},
		{"function name", func(m *ir.Module, f *ir.Func) { f.Name = "a b" }, `"a b" cannot name a function`},
		{"mesh twice", func(m *ir.Module, f *ir.Func) { m.Mesh[1].Name = "dp" }, "axis `dp` is given twice"},
		{"mesh size", func(m *ir.Module, f *ir.Func) { m.Mesh[1].Size = 0 }, "axis `tp` has size 0"},
		{"level", func(m *ir.Module, f *ir.Func) { m.Level = 9 }, "unknown level 9"},
		{"dtype", func(m *ir.Module, f *ir.Func) { f.Args[0].Value.Type.DType = 77 }, "unknown dtype 77"},
		{"size", func(m *ir.Module, f *ir.Func) { f.Args[0].Value.Type.Axes[1].Size = 0 }, "axis `embed` has size 0"},
		{"overflow", func(m *ir.Module, f *ir.Func) { f.Args[0].Value.Type.Axes[1].Size = ir.MaxElems }, "axis `embed` has size 4503599627370496"},
		{"axis twice", func(m *ir.Module, f *ir.Func) { f.Args[0].Value.Type.Axes[1].Name = "batch" }, "axis `batch` appears twice"},
		{"axis name", func(m *ir.Module, f *ir.Func) { f.Args[0].Value.Type.Axes[1].Name = "" }, `"" cannot name an axis`},
		{"reduction", func(m *ir.Module, f *ir.Func) { f.Ops[1].Results[0].Type.Partial[0].Reduce = "" }, `unknown reduction ""`},
		{"op name", func(m *ir.Module, f *ir.Func) { f.Ops[0].Name = "a b" }, `"a b" cannot name an operation`},
		{"unsorted", func(m *ir.Module, f *ir.Func) {
			f.Attrs = ir.Attrs{{Key: "b", Val: ir.Int(1)}, {Key: "a", Val: ir.Int(1)}}
		}, "`b` and `a` are not sorted"},
		{"no value", func(m *ir.Module, f *ir.Func) { f.Attrs = ir.Attrs{{Key: "b"}} }, "`b` has no value"},
		{"key", func(m *ir.Module, f *ir.Func) { f.Attrs = ir.A("a b", ir.Int(1)) }, `"a b" cannot name an attribute`},
		{"meta", func(m *ir.Module, f *ir.Func) { m.Meta = []ir.Term{{Head: "1"}} }, `"1" cannot name a term`},
	} {
		m := parse(t, sound)
		c.breakIt(m, m.Funcs[0])
		errs := verify.Module(m)
		switch {
		case c.want == "" && len(errs) == 0:
		case c.want == "" || !strings.Contains(errs.Error(), c.want):
			t.Errorf("%s: want %q in\n%v", c.name, c.want, errs)
		}
	}
}

// TestValuesThatPrintCannotKeep checks, for constants of every kind, that the
// verifier refuses exactly those that do not read back as they are.
func TestValuesThatPrintCannotKeep(t *testing.T) {
	deep := ir.Term{Head: "a"}
	for i := 0; i < 40; i++ {
		deep = ir.Term{Head: "a", Args: ir.A("b", deep)}
	}
	edge := ir.Term{Head: "a"}
	for i := 1; i < ir.MaxNesting; i++ {
		edge = ir.Term{Head: "a", Args: ir.A("b", ir.Terms{edge})}
	}
	nest := ir.Term{Head: "a"}
	for i := 1; i < ir.MaxNesting; i++ {
		nest = ir.Term{Head: "a", Args: ir.A("b", nest)}
	}
	many := make(ir.Pairs, ir.MaxRank+1)
	for i := range many {
		many[i] = ir.Pair{From: "a", To: "b"}
	}
	for _, v := range []ir.AttrVal{
		ir.Int(-1), ir.Float(1), ir.BoolVal(true), ir.Str("a b"), ir.Name("f32"), ir.Name("1f1b"), ir.Name("1.2.3"),
		ir.Name(""), ir.Name("a b"), ir.Name("true"), ir.Name("inf"), ir.Name("12"), ir.Name("1e5"), ir.Name("1e999"), ir.Name("-a"),
		ir.Names{}, ir.Names{"a"}, ir.Names{""}, ir.Names{"1"}, ir.Ints{}, ir.Ints{-1}, ir.Terms{}, ir.Terms{{Head: "a"}}, ir.Terms{{Head: ""}},
		ir.Sizes{}, ir.Sizes{{Name: "a", N: 1}}, ir.Sizes{{Name: "a", N: 0}}, ir.Sizes{{Name: "", N: 1}},
		ir.Sizes{{Name: "a", N: 1}, {Name: "a", N: 1}}, ir.Sizes{{Name: "a", N: 1 << 40}, {Name: "b", N: 1 << 40}},
		ir.Pairs{}, ir.Pairs{{From: "a", To: "b"}}, ir.Pairs{{From: "a"}}, many,
		ir.Sym("f"), ir.Sym(""), ir.Sym("a b"), ir.Term{Head: "a"}, ir.Term{}, deep, edge, nest,
	} {
		m := parse(t, sound)
		m.Meta = []ir.Term{{Head: "x", Args: ir.A("v", v)}}
		text := ir.Print(m)
		again, errs := ir.Parse("", []byte(text))
		keeps := len(errs) == 0 && ir.Print(again) == text &&
			fmt.Sprintf("%#v", again.Meta[0].Args.Get("v")) == fmt.Sprintf("%#v", v)
		if refused := verify.Module(m) != nil; refused == keeps {
			t.Errorf("%T %s: refused %v, reads back %v (%v)", v, v, refused, keeps, errs)
		}
	}
}

func TestErrorsAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("ptir 1 global \"\"\nfunc @f\n")
	for i := 0; i < 1000; i++ {
		fmt.Fprintf(&b, "%%%d : f32[] = nonsense\n", i)
	}
	b.WriteString("end\n")
	if errs := verify.Module(parse(t, b.String())); len(errs) != 50 {
		t.Errorf("%d diagnostics", len(errs))
	}
}

// calls counts how often the rule of the test ran.
var calls int

func init() {
	rule := func(m *ir.Module) diag.List {
		calls++
		if m.Name == "refused" {
			return diag.List{{Code: "E0000", Msg: "refused"}}
		}
		return nil
	}
	verify.AtLevel(ir.Sharded, "test", rule)
}

func TestAtLevel(t *testing.T) {
	m := parse(t, sound)
	calls = 0
	if errs := verify.Module(m); len(errs) > 0 || calls != 1 {
		t.Errorf("%d calls, %v", calls, errs)
	}
	m.Name = "refused"
	if errs := verify.Module(m); len(errs) != 1 || errs[0].Msg != "refused" {
		t.Errorf("the rule's diagnostics: %v", errs)
	}
	m.Funcs[0].Ops[0].Name = "nonsense"
	if errs := verify.Module(m); calls != 2 || len(errs) != 1 {
		t.Errorf("rules ran on a broken module: %d calls, %v", calls, errs)
	}
	defer func() {
		if recover() == nil {
			t.Error("a rule registered twice is accepted")
		}
	}()
	verify.AtLevel(ir.Sharded, "test", nil)
}

func FuzzModule(f *testing.F) {
	f.Add(sound)
	for _, s := range seeds {
		f.Add("ptir 1 local \"\"\nmesh dp=2, tp=2\nfunc @f\n" + s + "\nend\nfunc @g class=kernel\n arg %0 : f32[] in\n result %0 out\nend\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, _ := ir.Parse("fuzz", []byte(text))
		if m != nil {
			for m.Level = ir.Global; m.Level <= ir.Planned; m.Level++ {
				verify.Module(m)
			}
		}
	})
}

// seeds have an operation of each kind of row and attribute.
var seeds = []string{
	"arg %0 : f32[a=4, b=6]\narg %1 : f32[b=6, c=2]\n%2 : f32[a=4, c=2] = dot %0, %1 over=(b) out=(a, c) to=f32",
	"arg %0 : f32[a=4, b=6]\n%2 : f32[a=4, c=2, d=3] = split %0 axis=b into={c=2, d=3}\n%3 : f32[a=4, b=6] = merge %2 axes=(c, d) into=b",
	"arg %0 : f32[a=4]\n%2 : f32[a=2] = slice %0 axis=a start=1 limit=3\n%3 : f32[a=5] = pad %2 axis=a low=1 high=2\n%4 : f32[a=7] = concat %2, %3 axis=a",
	"arg %0 : f32[v=4, b=6]\narg %1 : i32[s=2]\n%2 : f32[s=2, b=6] = gather %0, %1 axis=v\n%3 : f32[v=4, b=6] = scatter_add %2, %1 axis=v out={v=4, b=6}",
	"arg %0 : i32[]\n%1 : f32[a=2@dp] = random %0, %0 axes={a=2} dist=uniform site=1 mesh={a:dp}\n%2 : i32[b=3@tp] = index axis=b size=3 mesh=(tp)",
	"arg %0 : f32[a=2@dp]\narg %9 : f32[a=4] partial(dp)\n%1 : f32[a=4] = all_gather %0 axis=a over=(dp) parts=2\n%2 : f32[a=2@dp] = reduce_scatter %9 axis=a over=(dp) parts=2 reduce=sum\n%3 : f32[a=2@dp] = permute %2 over=(tp) sources=[1, 0]",
	"arg %0 : f32[a=2@dp@tp, b=4]\n%1 : f32[a=2@tp@dp, b=4] = permute %0 mesh={a:tp, a:dp} over=(dp, tp)",
	"arg %0 : f32[a=2]\n%1 : f32[b=2] = rename %0 axes={a:b}\n%2 : f32[c=3, b=2] = broadcast %1 axes={c=3, b=2}\n%3 : f32[b=2, c=3] = transpose %2 order=(b, c)\n%4 : f32[] = reduce_max %3 over=(b, c)",
	"arg %0 : f32[]\narg %1 : f32[a=2]\n%2 : f32[a=2] = grad %0, %1\n%3 : f32[] = call %0 fn=@g\n%4 : i32[] = cast %3 to=i32\n%5 : f32[] = const dtype=f32 value=0.5",
}

func TestSeedsAreSound(t *testing.T) {
	for _, s := range seeds {
		m := parse(t, "ptir 1 local \"\"\nmesh dp=2, tp=2\nfunc @f\n"+s+"\nend\nfunc @g class=kernel\n arg %0 : f32[] in\n result %0 out\nend\n")
		errs := verify.Module(m)
		if strings.Contains(s, "grad") {
			if len(errs) != 1 || !strings.Contains(errs[0].Msg, "`grad` exists at level global only") {
				t.Errorf("%s\n%v", s, errs)
			}
		} else if len(errs) > 0 {
			t.Errorf("%s\n%v", s, errs)
		}
	}
}
