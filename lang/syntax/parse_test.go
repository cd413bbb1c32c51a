package syntax

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ptc/internal/diag"

	"github.com/alecthomas/participle/v2/lexer"
	"golang.org/x/tools/txtar"
)

// sources returns the sources of all archives of testdata.
func sources(t testing.TB) map[string][]byte {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no archives in testdata", err)
	}
	all := map[string][]byte{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range txtar.Parse(data).Files {
			if strings.HasSuffix(f.Name, ".ptl") {
				all[path+"/"+f.Name] = f.Data
			}
		}
	}
	return all
}

// words are the tokens and comments of a source, without spaces.
func words(t testing.TB, src []byte) []string {
	toks, errs := lex("x.ptl", src)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var out []string
	for _, tok := range toks {
		if tok.Type != tokSpace {
			out = append(out, tokenText(tok))
		}
	}
	return out
}

// checkSource holds a source against everything that is true of all sources.
func checkSource(t testing.TB, src []byte) {
	tree, errs := Parse("x.ptl", src)
	if (tree == nil) != (len(errs) > 0) {
		t.Fatalf("a tree %v with %d errors", tree != nil, len(errs))
	}
	source := func(string) (string, bool) { return string(src), true }
	for _, e := range errs {
		if e.Code == "" || e.Msg == "" || !e.Pos.IsValid() || strings.Contains(e.Msg, "internal") {
			t.Fatalf("an incomplete error: %v", e)
		}
	}
	diag.Plain.Render(errs, source)
	if tree == nil {
		return
	}
	checkSpans(t, tree, src)
	once, errs := Format("x.ptl", src)
	if len(errs) > 0 {
		t.Fatalf("it parses, but Format says %v", errs)
	}
	if was, is := words(t, src), words(t, once); strings.Join(was, "\x00") != strings.Join(is, "\x00") {
		t.Fatalf("Format changed the tokens\nwas %q\nis  %q", was, is)
	}
	twice, errs := Format("x.ptl", once)
	if len(errs) > 0 || !bytes.Equal(once, twice) {
		t.Fatalf("Format twice: %v\nonce:\n%s\ntwice:\n%s", errs, once, twice)
	}
	again, errs := Parse("x.ptl", once)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if was, is := undoc(tree), undoc(again); was != is {
		t.Fatalf("formatting changed the tree\nwas %s\nis  %s", was, is)
	}
}

// undoc dumps a tree without its comments, which may move to other lines.
func undoc(f *File) string {
	Inspect(f, func(n Node) bool {
		if doc := docField(n); doc != nil {
			*doc = ""
		}
		return true
	})
	return dump(f)
}

// checkSpans wants every node inside of its parent and not empty.
func checkSpans(t testing.TB, n Node, src []byte) {
	outer := n.Extent()
	if _, file := n.(*File); !file && outer.EndPos.Offset <= outer.Pos.Offset || outer.EndPos.Offset > len(src) {
		t.Fatalf("%T has the span %v", n, outer)
	}
	Inspect(n, func(c Node) bool {
		if c == n {
			return true
		}
		if in := c.Extent(); in.Pos.Offset < outer.Pos.Offset || in.EndPos.Offset > outer.EndPos.Offset {
			t.Fatalf("%T at %v is not inside of its %T at %v", c, in, n, outer)
		}
		checkSpans(t, c, src)
		return false
	})
}

func TestSources(t *testing.T) {
	for name, src := range sources(t) {
		t.Run(name, func(t *testing.T) { checkSource(t, src) })
	}
}

// TestTruncated cuts the first example after every byte: none of its beginnings
// panics, and those that end within a module have an error.
func TestTruncated(t *testing.T) {
	src := sources(t)["testdata/gpt.txtar/gpt.ptl"]
	from := bytes.Index(src, []byte("module Attention"))
	to := bytes.Index(src, []byte("}\n\nmodule Block"))
	for n := range src {
		if _, errs := Parse("x.ptl", src[:n]); n > from && n <= to && len(errs) == 0 {
			t.Errorf("%q is accepted", src[:n])
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, src := range sources(f) {
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) { checkSource(t, src) })
}

// TestProductions: an error can name everything the grammar can want, in words
// of the language.
func TestProductions(t *testing.T) {
	ebnf := grammar().String()
	seen := 0
	for _, rule := range strings.Split(ebnf, "\n") {
		name, body, _ := strings.Cut(rule, " = ")
		for _, m := range regexp.MustCompile(`"[^"]*"|<(\w+)>|\b([A-Z]\w*)`).FindAllStringSubmatch(body, -1) {
			item := m[1] + m[2]
			switch name {
			case "Declaration", "Decl", "Member", "Stmt", "Directive", "NamesItem", "AutoItem", "MachineItem": // choices are wanted as a whole
				continue
			}
			if seen++; item != "" && productions[item] == "" {
				t.Errorf("no words for %s in %s", item, rule)
			}
		}
	}
	if seen < 50 {
		t.Fatalf("only %d items in\n%s", seen, ebnf)
	}
}

// TestWords: the words offered in messages are those of the grammar.
func TestWords(t *testing.T) {
	ebnf := grammar().String()
	for _, words := range [][]string{declWords, memberWords, stmtWords, sectionWords, directiveWords} {
		for _, w := range words {
			if !regexp.MustCompile(`= \(?("\w+" \| )*"` + w + `"`).MatchString(ebnf) {
				t.Errorf("nothing in the grammar begins with %q:\n%s", w, ebnf)
			}
		}
	}
}

func TestLimits(t *testing.T) {
	deep := func(open, mid, shut string, n int) string {
		return "config { a = " + strings.Repeat(open, n) + mid + strings.Repeat(shut, n) + " }"
	}
	for _, c := range []struct{ name, src, code string }{
		{"parentheses that fit", deep("(", "1", ")", 190), ""},
		{"parentheses", deep("(", "1", ")", 201), "E0105"},
		{"parentheses, never closed", deep("(", "", "", 100_000), "E0105"},
		{"minus signs", deep("- ", "1", "", 20_000), "E0105"},
		{"nots", deep("not ", "1", "", 20_000), "E0105"},
		{"powers", deep("2 ** ", "1", "", 20_000), "E0105"},
		{"a sum that fits", deep("1 + ", "1", "", 900), ""},
		{"a sum", deep("1 + ", "1", "", 20_000), "E0105"},
		{"calls", deep("", "f", "()", 20_000), "E0105"},
		{"conditions", deep("1 if a else ", "1", "", 20_000), "E0105"},
		{"blocks", "fn f() { " + strings.Repeat("if a { ", 20_000), "E0105"},
		{"else", "fn f() { if a { }" + strings.Repeat(" else if a { }", 5_000) + " }", ""},
		{"too large", strings.Repeat(" ", maxBytes+1), "E0110"},
		{"zero byte", "config { a = 1 }\x00", "E0107"},
		{"not UTF-8", "config { // caf\xe9\n a = 1 }", "E0107"},
		{"ELF", "\x7fELF\x02\x01\x01\x00", "E0107"},
		{"empty", "", "E0109"},
		{"semicolons", ";;;", "E0109"},
		{"byte order mark", "\uFEFFconfig { a = 1 }", ""},
		{"carriage returns", "config { // x\r\n  a = 1 /* y\r\n */\r\n}\r\n", ""},
		{"replacement character in a comment", "config { } // \uFFFD", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, errs := Parse("x.ptl", []byte(c.src))
			switch {
			case c.code == "" && len(errs) > 0:
				t.Fatal(errs)
			case c.code == "":
				checkSource(t, []byte(c.src))
			case len(errs) == 0 || errs[0].Code != c.code:
				t.Fatalf("want %s, got %v", c.code, errs)
			}
		})
	}
}

// TestCodes: doc.go lists the codes that the package reports, and no other.
func TestCodes(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`E01\d\d`)
	listed, used := map[string]bool{}, map[string]bool{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range code.FindAllString(string(text), -1) {
			switch {
			case name == "doc.go":
				listed[c] = true
			case !strings.HasSuffix(name, "_test.go"):
				used[c] = true
			}
		}
	}
	if !maps.Equal(listed, used) {
		t.Errorf("doc.go lists %v, the code uses %v", listed, used)
	}
}

func TestParseExpr(t *testing.T) {
	for text, want := range map[string]string{
		"24":                 "Int(24)\n",
		"bf16":               "Name(bf16)\n",
		"3 * embed // three": "Binary(* Int(3) Name(embed))\n",
		"(a, 1f1b)":          "Tuple([Name(a) Name(1f1b)])\n",
		"":                   "--set:1:1: error[E0101]: found the end of the file; expected an expression",
		"1 2":                "--set:1:3: error[E0101]: found `2`; expected the end of the expression",
		"(1":                 "--set:1:1: error[E0102]: `(` is never closed; expected `)`",
		"1 +":                "--set:1:4: error[E0101]: found the end of the file; expected an expression",
		"a ^ b":              "--set:1:3: error[E0106]: the character `^` has no meaning here; write `**`",
	} {
		x, errs := ParseExpr("--set", text)
		got := errs.Error()
		if len(errs) == 0 {
			got = dump(x)
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	src := "config {\n  wide = f(a, (b + 1)) // x\n}\n"
	tree, errs := Parse("x.ptl", []byte(src))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	got := map[string]string{}
	Inspect(tree, func(n Node) bool {
		s := n.Extent()
		got[src[s.Pos.Offset:s.EndPos.Offset]] = s.At().String()
		return true
	})
	for text, at := range map[string]string{
		"config {\n  wide = f(a, (b + 1)) // x\n}": "x.ptl:1:1", "wide = f(a, (b + 1))": "x.ptl:2:3",
		"wide": "x.ptl:2:3", "f(a, (b + 1))": "x.ptl:2:10", "b + 1": "x.ptl:2:16", "1": "x.ptl:2:20",
	} {
		if got[text] != at {
			t.Errorf("%q is at %q, not %s", text, got[text], at)
		}
	}
}

// TestTokensJoin: the tokens of a source, joined, are the source.
func TestTokensJoin(t *testing.T) {
	for name, src := range sources(t) {
		toks, errs := lex(name, src)
		var b strings.Builder
		line, col := 1, 1
		for _, tok := range toks {
			if len(errs) == 0 && tok.Pos != (lexer.Position{Filename: name, Offset: b.Len(), Line: line, Column: col}) {
				t.Errorf("%s: %q is at %v, not at %d:%d", name, tok.Value, tok.Pos, line, col)
			}
			for _, c := range []byte(tok.Value) {
				if col++; c == '\n' {
					line, col = line+1, 1
				}
			}
			b.WriteString(tok.Value)
		}
		if len(errs) == 0 && b.String() != string(src) {
			t.Errorf("%s: the tokens are %q", name, b.String())
		}
	}
}

// BenchmarkParse reads a file of some 200 lines.
func BenchmarkParse(b *testing.B) {
	src := bytes.Repeat(sources(b)["testdata/gpt.txtar/gpt.ptl"], 4)
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		if _, errs := Parse("x.ptl", src); len(errs) > 0 {
			b.Fatal(errs)
		}
	}
}
