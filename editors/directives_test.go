package editors

import (
	"flag"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ptc/lang/directive"
)

var update = flag.Bool("update", false, "write the directives into the grammars")

// nodes are the rules of grammar.js for the types of fields of a directive.
var nodes = map[string]string{"Ident": "$.identifier", "Path": "$.path", "Entry": "$.entry", "Options": "$.options", "Expr": "$._expression"}

// syntaxOf is the syntax of a directive for tree-sitter, by the tags of its node, and the
// words that follow its own.
func syntaxOf(f *directive.Form) (rule string, clauses []string) {
	var terms []string
	n := reflect.TypeOf(f.Node).Elem()
	for i := range n.NumField() {
		tag, is := n.Field(i).Tag.Lookup("parser")
		if !is {
			continue
		}
		t := n.Field(i).Type
		for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		for _, w := range regexp.MustCompile(`'(\w+)'`).FindAllStringSubmatch(tag, -1) {
			clauses = append(clauses, w[1])
		}
		node := nodes[t.Name()]
		if n.Field(i).Name == "Axes" && t.Name() == "Ident" {
			node = `field("axis", ` + node + `)`
		}
		for _, to := range [][2]string{
			{`@@ \( ',' @@ \)\*`, "some(@@)"}, {`\( '\(' some\(@@\) '\)' \| @@ \)`, "$$._mesh"}, {`@@\?`, "optional(@@)"},
			{`^\( (.*) \)\?$`, "optional(seq($1))"}, {`@@`, strings.ReplaceAll(node, "$", "$$")}, {`'(\w+)'`, `"$1"`}, {`" (\S)`, `", $1`},
		} {
			tag = regexp.MustCompile(to[0]).ReplaceAllString(tag, to[1])
		}
		terms = append(terms, tag)
	}
	return "seq(" + strings.Join(terms, ", ") + ")", clauses[1:]
}

// TestDirectives: the grammars of the editors have each directive with its syntax.
func TestDirectives(t *testing.T) {
	var words, clauses, rules []string
	for _, f := range directive.Forms() {
		if f.Node == nil {
			continue
		}
		rule, more := syntaxOf(f)
		words, rules = append(words, f.Word), append(rules, "      "+rule+",\n")
		for _, w := range more {
			if !slices.Contains(clauses, w) {
				clauses = append(clauses, w)
			}
		}
	}
	sorted := slices.Sorted(slices.Values(words))
	for name, parts := range map[string][][2]string{
		"tree-sitter-ptl/grammar.js": {
			{`(?m)^const directives = .*$`, `const directives = ["` + strings.Join(sorted, `", "`) + `"];`},
			{`(?s)    directive: .*?    \)\),\n`, "    directive: ($) => prec.right(choice(\n" + strings.Join(rules, "") + "    )),\n"},
		},
		"tree-sitter-ptl/queries/highlights.scm": {{`(?m)^\["mesh".*\] @keyword$`, `["` + strings.Join(append(words, clauses...), `" "`) + `"] @keyword`}},
		"vscode/syntaxes/ptl.tmLanguage.json": {
			{`device\|forbid\|[a-z|]*`, strings.Join(sorted, "|")},
			{`of\|over\|[a-z|]*`, strings.Join(clauses, "|")},
		},
	} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range parts {
			at := regexp.MustCompile(p[0]).FindIndex(text)
			switch {
			case at == nil:
				t.Errorf("%s: no %s", name, p[0])
			case string(text[at[0]:at[1]]) == p[1]:
			case *update:
				text = slices.Concat(text[:at[0]], []byte(p[1]), text[at[1]:])
			default:
				t.Errorf("%s has\n%s\nwant\n%s\n(go test ./editors -update writes it)", name, text[at[0]:at[1]], p[1])
			}
		}
		if *update {
			if err := os.WriteFile(name, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
