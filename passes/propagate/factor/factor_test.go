package factor

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/verify"
)

// mlp is the block of a network, as a function of its own.
const mlp = `ptir 1 global "t"
mesh dp=2, tp=2

func @block class=entry
  arg %0 : f32[batch=8, embed=4] data "x"
  arg %1 : f32[embed=4, ffn=8] data "w1"
  arg %2 : f32[ffn=8, embed=4] data "w2"
  %3 : f32[batch=8, ffn=8] = dot %0, %1 over=(embed)
  %4 : f32[batch=8, ffn=8] = tanh %3
  %5 : f32[batch=8, embed=4] = dot %4, %2 over=(ffn)
  %6 : f32[batch=8, embed=4] = add %0, %5
  result %6 grad "y"
end
`

// TestGiven: a function is propagated from the states of its arguments and results
// alone, without a policy, and only then has the reshards that these need.
func TestGiven(t *testing.T) {
	for _, c := range []struct {
		args   []string // what shards the axes of each argument
		result string
		want   string // types of the operations
	}{
		{[]string{"|", "|", "|"}, "|", "dot[batch ffn] tanh[batch ffn] dot[batch embed] add[batch embed]"},
		{[]string{"dp|", "|tp", "tp|"}, "dp|", "dot[batch@dp ffn@tp] tanh[batch@dp ffn@tp] dot[batch@dp embed]+tp reshard[batch@dp embed] add[batch@dp embed]"},
		{[]string{"dp|", "|tp", "tp|"}, "dp|tp", "dot[batch@dp ffn@tp] tanh[batch@dp ffn@tp] dot[batch@dp embed]+tp reshard[batch@dp embed] add[batch@dp embed] reshard[batch@dp embed@tp]"},
		{[]string{"dp|", "dp|tp", "|"}, "dp|", "reshard[embed ffn@tp] dot[batch@dp ffn@tp] tanh[batch@dp ffn@tp] reshard[ffn@tp embed] dot[batch@dp embed]+tp reshard[batch@dp embed] add[batch@dp embed]"},
	} {
		m, errs := ir.Parse("t.ptir", []byte(mlp))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		f := m.Funcs[0]
		p := Problem{Func: f, Mesh: m.Mesh, Results: []ir.Type{over(f.Results[0].Value.Type, c.result)}}
		for i, a := range f.Args {
			p.Args = append(p.Args, Given{Type: over(a.Value.Type, c.args[i])})
		}
		Run(p)
		m.Level = ir.Sharded
		if errs := verify.Module(m); len(errs) > 0 {
			t.Fatalf("%v: %v", c.args, errs)
		}
		var got []string
		for _, o := range f.Ops {
			got = append(got, o.Name+describe(o.Result().Type))
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%v to %s:\n%s, want\n%s", c.args, c.result, text, c.want)
		}
	}
}

func over(t ir.Type, mesh string) ir.Type {
	t = t.Clone()
	for i, list := range strings.Split(mesh, "|") {
		t.Axes[i].Mesh = strings.Fields(list)
	}
	return t
}

func describe(t ir.Type) string {
	var axes []string
	for _, a := range t.Axes {
		axes = append(axes, strings.Join(append([]string{a.Name}, a.Mesh...), "@"))
	}
	out := "[" + strings.Join(axes, " ") + "]"
	for _, x := range t.Partial {
		out += "+" + x.Mesh
	}
	return out
}

// TestNames: the core imports what knows neither layouts nor policies, and names no
// operation besides the one that it inserts, and what is at the head of a run.
func TestNames(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	imports := map[string]bool{}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range file.Imports {
			path, _ := strconv.Unquote(s.Path.Value)
			imports[path] = true
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				if s, err := strconv.Unquote(n.Value); err == nil && op.Lookup(s) != nil {
					t.Errorf("%s names the operation %s", name, s)
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "op" && n.Sel.Name != "Reshard" && n.Sel.Name != "Enter" && constants[n.Sel.Name] {
					t.Errorf("%s names the operation %s", name, n.Sel.Name)
				}
			}
			return true
		})
	}
	if got, want := slices.Sorted(maps.Keys(imports)), []string{"maps", "ptc/ir", "ptc/ir/op", "slices", "strings"}; !slices.Equal(got, want) {
		t.Errorf("imports %v, want %v", got, want)
	}
}

// constants are the names that package op has for operations: reduce_sum is ReduceSum.
var constants = func() map[string]bool {
	out := map[string]bool{}
	for _, d := range op.All() {
		name := ""
		for _, word := range strings.Split(d.Name, "_") {
			name += strings.ToUpper(word[:1]) + word[1:]
		}
		out[name] = true
	}
	delete(out, "Reduce") // the kind of a factor
	return out
}()
