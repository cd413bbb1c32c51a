package analysis

import (
	"context"
	"fmt"
	"testing"

	"ptc/editor/names"
	"ptc/lang/syntax"
)

// TestNames: references are in order and apart, each is where its symbol's name is
// written, and each symbol that is declared somewhere has one reference that says so. Of
// what parses as a name, little is left without a symbol.
func TestNames(t *testing.T) {
	for _, example := range []Input{example(t, "gpt"), example(t, "llama"), example(t, "lora"), example(t, "mlp"), example(t, "moe")} {
		p := Check(context.Background(), example)
		declared := map[*names.Symbol]int{}
		used := map[*names.Symbol]bool{}
		for _, f := range p.Files {
			last, src := 0, p.TextOf(f).String
			known := map[syntax.Node]bool{}
			for _, r := range p.Names.In(f) {
				if r.From < last || r.To <= r.From || src[r.From:r.To] != r.Symbol.Name {
					t.Errorf("%s: the reference of %s is %d to %d, after %d", f.Name, r.Symbol.Name, r.From, r.To, last)
				}
				last = r.To
				used[r.Symbol] = true
				known[r.Node] = true
				if r.Declares {
					declared[r.Symbol]++
				}
				if got := p.Names.At(f, r.From); got == nil || got.Symbol != r.Symbol {
					t.Errorf("%s: at %d is not %s", f.Name, r.From, r.Symbol.Name)
				}
			}
			if f.Std {
				continue
			}
			for _, d := range f.Tree.Decls {
				if _, isLayout := d.(*syntax.Layout); isLayout {
					continue
				}
				syntax.Inspect(d, func(n syntax.Node) bool {
					if x, ok := n.(*syntax.Name); ok && !known[n] && !word[x.Name] {
						t.Errorf("%s:%d: %s stands for nothing", f.Name, x.Pos.Line, x.Name)
					}
					return true
				})
			}
		}
		for s := range used {
			if s.At != nil && s.Kind != names.Import && declared[s] != 1 {
				t.Errorf("%s: %s is declared %d times", example.Name, s.Name, declared[s])
			}
		}
	}
}

// word are names that only their place gives a meaning to.
var word = map[string]bool{"normal": true, "zeros": true, "ones": true, "uniform": true, "training": true, "step": true, "bf16": true, "f32": true, "i32": true}

func TestPath(t *testing.T) {
	p := Check(context.Background(), Input{Name: "a.ptl", Text: "fn f(x) { return x + g(x) }\nfn g(x) { return x }\n"})
	for offset, want := range map[int]string{17: "*syntax.Name", 19: "*syntax.Binary", 21: "*syntax.Name", 24: "*syntax.Name", 27: "*syntax.Block"} {
		path := p.Path(p.Main, offset)
		if len(path) == 0 {
			t.Errorf("nothing at %d", offset)
			continue
		}
		if got := typeName(path[len(path)-1]); got != want {
			t.Errorf("%s at %d, want %s", got, offset, want)
		}
	}
}

func typeName(n syntax.Node) string { return fmt.Sprintf("%T", n) }

// TestPatternsOfEndlessModels: a text may have modules that hold themselves, and patterns
// that no parameter ends; they are left out.
func TestPatternsOfEndlessModels(t *testing.T) {
	for _, pattern := range []string{"**.x", "**.**.**.**.x", "a.a.*.b", "", ".", "**", "[", "a.", "\\u002a"} {
		p := Check(context.Background(), Input{Name: "a.ptl", Text: "module A { a, b, c : A }\nmodel M { a : A  l : A[2] }\ntrain M { freeze = [\"" + pattern + "\"] optimizer = F(on = \"" + pattern + "\") }\n"})
		if p == nil || p.Names == nil {
			t.Errorf("%q: no names", pattern)
		}
	}
}
