package editors

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	_ "ptc/lang/directive" // whose words the grammar has
	"ptc/lang/syntax"
)

// sources are the examples, the standard library, machines, and what none of them has.
func sources(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{"odd.ptl": "/* a\n   b */ fn f(x: [n]) -> (f32[n], like x) { return x[n = ..2], 0x1f + 1e-3 * 2_0.5 }\n" +
		"layout l {\n  shard größe, over of blocks.0.1.w, ** over (a, b) between B { attention = ring }\n  pipeline b over p { schedule = 1f1b }\n}\n" +
		"layout best auto {\n  mesh on h100 : 16 x 8x2\n  keep shard batch over dp; keep bucket = 1 MiB\n  allow tp <= 8, zero in (1, 3), tensor in ((heads, ffn), (ffn))\n" +
		"  limit memory 70 GiB\n  minimize step_time, cost\n}\nlayout auto { precision { compute = bf16 } }\n" +
		"module M(of: axis = on) { param over, to : [of] ~ normal(std = \"a\\\"b\") when not true or x.for1 }\nimport \"a.ptl\" as b\n"}
	for _, pattern := range []string{"../examples/*/*.ptl", "../stdlib/*.ptl", "../foresight/machine/machines/*.ptm"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) < 4 {
			t.Fatalf("%s: %d files (%v)", pattern, len(names), err)
		}
		for _, n := range names {
			text, err := os.ReadFile(n)
			if err != nil {
				t.Fatal(err)
			}
			out[n] = string(text)
		}
	}
	return out
}

// classOf is the class of a token that a scope's name stands for.
func classOf(scope string) (syntax.Class, bool) {
	for _, c := range []struct {
		prefix string
		class  syntax.Class
	}{
		{"comment.", syntax.ClassComment}, {"string.", syntax.ClassString}, {"constant.numeric.integer.", syntax.ClassInt},
		{"constant.numeric.float.", syntax.ClassFloat}, {"constant.other.word.", syntax.ClassWord}, {"constant.language.", syntax.ClassReserved},
		{"keyword.control.", syntax.ClassReserved}, {"keyword.other.", syntax.ClassReserved}, {"keyword.operator.word.", syntax.ClassReserved},
		{"keyword.operator.", syntax.ClassSign}, {"punctuation.", syntax.ClassSign},
		{"entity.", syntax.ClassName}, {"variable.", syntax.ClassName}, {"keyword.declaration.", syntax.ClassName},
	} {
		if strings.HasPrefix(scope, c.prefix) {
			return c.class, true
		}
	}
	return 0, false
}

// TestTextMate: each byte of each token has a scope of the token's class; and no name of
// the tree is shown as a word of the grammar.
func TestTextMate(t *testing.T) {
	g := readTextMate(t)
	tokens := 0
	for name, src := range sources(t) {
		scopes := g.scopes(strings.Split(src, "\n"))
		at := func(p syntax.Pos, i int) string {
			line := p.Line - 1
			for n, r := range src[p.Offset : p.Offset+i] {
				if r == '\n' {
					line, p.Column = line+1, -n
				}
			}
			return scopes[line][p.Column-1+i]
		}
		for _, k := range syntax.Tokens([]byte(src)) {
			tokens++
			for i := range k.Text {
				if strings.ContainsAny(k.Text[i:i+1], " \t\n\r") {
					continue
				}
				scope := at(k.Pos, i)
				if c, ok := classOf(scope); !ok || c != k.Class {
					t.Fatalf("%s:%d:%d: %q has the scope %q, and the class %d", name, k.Pos.Line, k.Pos.Column, k.Text, scope, k.Class)
				}
			}
		}
		f, errs := syntax.ParsePart(name, []byte(src))
		if len(errs) > 0 && name != "odd.ptl" {
			t.Fatal(errs)
		}
		for _, d := range f.Decls {
			if _, isFn := d.(*syntax.Fn); !isFn && !strings.HasPrefix(at(d.Extent().Pos, 0), "keyword.declaration.") {
				t.Errorf("%s: the declaration on line %d does not begin with a keyword", name, d.At().Line)
			}
			syntax.Inspect(d, func(n syntax.Node) bool {
				switch n.(type) {
				case *syntax.Ident, *syntax.Name:
					if s := at(n.Extent().Pos, 0); strings.HasPrefix(s, "keyword.") && !oddWord(name, d) {
						t.Errorf("%s: the name on line %d, column %d has the scope %s", name, n.At().Line, n.At().Col, s)
					}
				}
				return true
			})
		}
	}
	if tokens < 5000 {
		t.Errorf("%d tokens", tokens)
	}
}

// oddWord is whether a declaration uses words of directives as names of axes, which a
// grammar without a parser cannot tell apart.
func oddWord(name string, d syntax.Decl) bool {
	_, isLayout := d.(*syntax.Layout)
	return name == "odd.ptl" && isLayout
}

// TestTextMateCanFail: a text that the lexer and a damaged grammar see differently.
func TestTextMateCanFail(t *testing.T) {
	g := readTextMate(t)
	g.Repository["strings"].Patterns = nil
	if s := g.scopes([]string{`x = "for"`})[0][5]; strings.HasPrefix(s, "string.") {
		t.Errorf("without its rule, a string has the scope %s", s)
	}
}

// words is a table of grammar.js.
func words(t *testing.T, js, name string) []string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^const ` + name + ` = \[(.*)\];$`).FindStringSubmatch(js)
	if m == nil {
		t.Fatalf("grammar.js has no table %s", name)
	}
	var out []string
	for _, q := range regexp.MustCompile(`"([^"]*)"`).FindAllStringSubmatch(m[1], -1) {
		out = append(out, q[1])
	}
	return out
}

// TestTreeSitter: the tables of words are the lexer's, every word of them and every
// operator is in a rule, and no rule has a word that the language has not.
func TestTreeSitter(t *testing.T) {
	text, err := os.ReadFile("tree-sitter-ptl/grammar.js")
	if err != nil {
		t.Fatal(err)
	}
	js, v := string(text), syntax.Words()
	for name, want := range map[string][]string{"reserved": v.Reserved, "declarations": v.Declarations, "members": v.Members, "directives": v.Directives, "autos": v.Autos, "sections": v.Sections, "units": v.Units} {
		if got := words(t, js, name); !slices.Equal(got, want) {
			t.Errorf("%s are %v, want %v", name, got, want)
		}
	}
	_, rules, _ := strings.Cut(js, "rules: {")
	used := map[string]bool{}
	rules = regexp.MustCompile(`field\("\w+", |(?m) /.*/,$`).ReplaceAllString(rules, "")
	for _, m := range regexp.MustCompile(`"([^"\n]+)"`).FindAllStringSubmatch(rules, -1) {
		used[m[1]] = true
	}
	for _, w := range slices.Concat(v.Reserved, v.Declarations, v.Members, v.Statements, v.Directives, v.Autos, v.Sections) {
		if !used[w] {
			t.Errorf("no rule has `%s`", w)
		}
	}
	place := []string{"as", "auto", "between", "concat", "decay", "from", "in", "lora", "metrics", "no_decay", "of", "on", "over", "skip", "stop", "to", "when", "x"}
	for w := range used {
		if regexp.MustCompile(`^\w+$`).MatchString(w) && !slices.Contains(slices.Concat(v.Reserved, v.Declarations, v.Members, v.Directives, v.Autos, v.Sections, place), w) {
			t.Errorf("`%s` is no word of the language", w)
		}
		if !regexp.MustCompile(`\w|^[/"*]`).MatchString(w) && !slices.Contains(v.Signs, w) {
			t.Errorf("`%s` is no sign of the language", w)
		}
	}
}
