// Package docs_test holds the documents to the code.
package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ptc/lang"
	"ptc/lang/eval"
	"ptc/lang/syntax"
	"ptc/passes"
)

const root = ".."

// pages are the documents whose sources and links are checked.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names, err := filepath.Glob("*.md")
	if err != nil || len(names) < 5 {
		t.Fatalf("found %d documents (%v)", len(names), err)
	}
	out := map[string]string{}
	for _, n := range append(names, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		out[n] = string(text)
	}
	return out
}

// column is the first column of the tables below a heading, or of all tables.
func column(text, heading, pattern string) []string {
	if heading != "" {
		_, text, _ = strings.Cut(text, "\n"+heading+"\n")
		text, _, _ = strings.Cut(text, "\n## ")
	}
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^\| (`+pattern+`) \|`).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

func TestEveryErrorCodeIsDocumented(t *testing.T) {
	documented := column(pages(t)["language.md"], "", `E\d{4}`)
	if s := slices.Clone(documented); !slices.IsSorted(s) || len(slices.Compact(s)) != len(documented) {
		t.Error("the codes in language.md are not in order, or one is there twice")
	}
	used := map[string]string{} // code → file
	code := regexp.MustCompile(`"(E0\d{3})"`)
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || len(d.Name()) > 2 && d.Name()[0] == '.') {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(name)
		for _, m := range code.FindAllSubmatch(text, -1) {
			used[string(m[1])] = name
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for c, file := range used {
		if !slices.Contains(documented, c) {
			t.Errorf("%s of %s is not in the table of language.md", c, file)
		}
	}
	for _, c := range documented {
		if used[c] == "" {
			t.Errorf("%s is in language.md, and nothing reports it", c)
		}
	}
}

// TestPassesAreThoseOfTheTable: in its order and its words.
func TestPassesAreThoseOfTheTable(t *testing.T) {
	var want []string
	for _, p := range passes.Table {
		level := p.In.String()
		if p.Out != p.In {
			level += " → " + p.Out.String()
		}
		want = append(want, "| "+p.Name+" | "+level+" | "+p.Doc+" |")
	}
	_, text, _ := strings.Cut(pages(t)["architecture.md"], "\n| pass | level | does |\n| --- | --- | --- |\n")
	table, _, _ := strings.Cut(text, "\n\n")
	if got := strings.Split(table, "\n"); !slices.Equal(got, want) {
		t.Errorf("architecture.md has\n%s\nthe table is\n%s", table, strings.Join(want, "\n"))
	}
}

// TestBuiltins: the table of language.md has every function of the language, with the text
// that editors show.
func TestBuiltins(t *testing.T) {
	var want []string
	for _, g := range eval.Signatures() {
		if g.Doc == "" || strings.ContainsAny(g.Doc, "|\n") || !strings.HasSuffix(g.Doc, ".") {
			t.Errorf("the text of %s is %q", g.Name, g.Doc)
		}
		want = append(want, "| `"+g.Text()+"` | "+g.Doc+" |")
	}
	_, text, _ := strings.Cut(pages(t)["language.md"], "\n| function | |\n| --- | --- |\n")
	table, _, _ := strings.Cut(text, "\n\n")
	if diff := cmp.Diff(want, strings.Split(table, "\n")); diff != "" {
		t.Errorf("language.md has another table than the functions have texts (-want +got):\n%s", diff)
	}
	for _, g := range eval.Initializers() {
		if g.Doc == "" {
			t.Errorf("%s has no text", g.Name)
		}
	}
}

// TestTourIsShort: who reads the tour reads all of it. Reference and reasons have
// pages of their own.
func TestTourIsShort(t *testing.T) {
	if n := strings.Count(pages(t)["architecture.md"], "\n"); n > 400 {
		t.Errorf("architecture.md has %d lines, more than 400", n)
	}
}

// TestNamesOfTheLanguage: every built-in function and every declaration of the
// standard library is in the reference.
func TestNamesOfTheLanguage(t *testing.T) {
	reference := pages(t)["language.md"]
	section := func(heading string) string {
		_, text, _ := strings.Cut(reference, "\n## "+heading+"\n")
		text, _, _ = strings.Cut(text, "\n## ")
		return text
	}
	check := func(files, pattern, heading string) {
		text, found := section(heading), 0
		names, err := filepath.Glob(filepath.Join(root, files))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range names {
			source, err := os.ReadFile(n)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(pattern).FindAllSubmatch(source, -1) {
				found++
				if !regexp.MustCompile(`\b` + string(m[1]) + `\b`).MatchString(text) {
					t.Errorf("%s of %s is not in the section %q of language.md", m[1], n, heading)
				}
			}
		}
		if found < 10 {
			t.Errorf("found %d names in %s", found, files)
		}
	}
	check("lang/builtin/*.go", `Define\("([a-z_]+)",`, "Built-in functions")
	check("stdlib/*.ptl", `(?m)^(?:fn|module|optimizer) (\w+)`, "The standard library")
}

// TestSources: what is shown as a source is formatted, and compiles if it is
// complete.
func TestSources(t *testing.T) {
	block := regexp.MustCompile("(?s)```ptl\n(.*?)```")
	complete := 0
	for name, text := range pages(t) {
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			first, _, _ := strings.Cut(m[1], "\n")
			formatted, errs := syntax.Format(name, []byte(m[1]))
			if len(errs) > 0 {
				t.Errorf("%s, %q: %v", name, first, errs)
				continue
			}
			if string(formatted) != m[1] {
				t.Errorf("%s, %q is not as ptc fmt has it:\n%s", name, first, formatted)
			}
			if !strings.Contains(m[1], "\ntrain ") {
				continue
			}
			complete++
			p, errs := lang.Load(name, []byte(m[1]), nil)
			if len(errs) == 0 {
				_, errs = p.Lower(lang.Options{})
			}
			if len(errs) > 0 {
				t.Errorf("%s, %q: %v", name, first, errs)
			}
		}
	}
	if complete == 0 {
		t.Error("no document shows a complete source")
	}
}

// TestLinks: files that Markdown files link to exist, and so do their headings; and so
// do the pages that the comments of Go files name.
func TestLinks(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s]*)\)`)
	page := regexp.MustCompile(`\bdocs/\w+\.md\b`)
	all := pages(t)
	for _, f := range treeOf(t).files {
		name := filepath.Join(root, filepath.FromSlash(f))
		if !strings.HasSuffix(f, ".go") && (!strings.HasSuffix(f, ".md") || strings.HasPrefix(f, "docs/")) {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.FindAllString(string(text), -1) {
			if _, ok := all[filepath.Base(m)]; !ok {
				t.Errorf("%s names %s: there is no such page", f, m)
			}
		}
		if strings.HasSuffix(f, ".md") {
			all[name] = string(text)
		}
	}
	for name, text := range all {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			target := name
			if file != "" {
				target = filepath.Join(filepath.Dir(name), file)
			}
			to, err := os.Stat(target)
			if err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
				continue
			}
			if anchor == "" || to.IsDir() {
				continue
			}
			if text, err := os.ReadFile(target); err != nil || !slices.Contains(anchors(string(text)), anchor) {
				t.Errorf("%s links to %s: no such heading (%v)", name, m[1], err)
			}
		}
	}
}

// anchors are the headings as links name them.
func anchors(text string) []string {
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		a := regexp.MustCompile(`[^a-z0-9 _-]`).ReplaceAllString(strings.ToLower(m[1]), "")
		out = append(out, strings.ReplaceAll(a, " ", "-"))
	}
	return out
}
