package lang_test

import (
	"fmt"
	"os"
	"regexp"
	"sort"
	"strings"
	"testing"

	"ptc/internal/diag"
	"ptc/internal/golden"
	"ptc/ir"
	"ptc/ir/verify"
	"ptc/lang"
)

// run loads and lowers the case's main.ptl; lines `set: k=v`, `layout: name`,
// `compute: dtype`, `sample: yes` and `auto: yes` of the comment are the options.
func run(c *golden.Case) (*lang.Program, *lang.Result, diag.List) {
	p, errs := lang.Load("main.ptl", []byte(c.Input("main.ptl")), func(path string) ([]byte, error) {
		if strings.HasPrefix(path, "..") {
			return nil, lang.ErrOutside
		}
		if !c.Has(path) {
			return nil, fmt.Errorf("open %s: no such file", path)
		}
		return []byte(c.Input(path)), nil
	})
	if len(errs) > 0 {
		return p, nil, errs
	}
	o := lang.Options{Layout: c.Option("layout"), Compute: c.Option("compute"), Sample: c.Option("sample") != "", Auto: c.Option("auto") != ""}
	for _, line := range strings.Split(c.Comment(), "\n") {
		if kv, ok := strings.CutPrefix(line, "set: "); ok {
			k, v, _ := strings.Cut(kv, "=")
			o.Set = append(o.Set, lang.Override{Key: k, Value: v})
		}
	}
	r, errs := p.Lower(o)
	return p, r, errs
}

// The archives of testdata/errors hold a program and what is said about it.
func TestErrors(t *testing.T) {
	golden.Run(t, "testdata/errors/*.txtar", func(t *testing.T, c *golden.Case) {
		p, _, errs := run(c)
		if len(errs) == 0 {
			t.Fatal("no error was found")
		}
		c.Output("errors", diag.Plain.Render(errs, p.Source))
	})
}

// Every code of doc.go has a case.
func TestEveryCodeHasACase(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir("testdata/errors")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range files {
		text, err := os.ReadFile("testdata/errors/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`error\[(E\d{4})\]`).FindAllStringSubmatch(string(text), -1) {
			seen[m[1]] = true
		}
	}
	var missing []string
	for _, m := range regexp.MustCompile(`(?m)^//\t(E\d{4}) `).FindAllStringSubmatch(string(doc), -1) {
		if !seen[m[1]] {
			missing = append(missing, m[1])
		}
		delete(seen, m[1])
	}
	for c := range seen {
		if !strings.HasPrefix(c, "E01") {
			missing = append(missing, c+" (not in doc.go)")
		}
	}
	sort.Strings(missing)
	if len(missing) > 0 {
		t.Errorf("codes without a case: %s", strings.Join(missing, ", "))
	}
}

// The archives of testdata/lower hold a program and its module.
func TestLower(t *testing.T) {
	golden.Run(t, "testdata/lower/*.txtar", func(t *testing.T, c *golden.Case) {
		p, r, errs := run(c)
		if len(errs) > 0 {
			t.Fatal(diag.Plain.Render(errs, p.Source))
		}
		if errs := verify.Module(r.Module); len(errs) > 0 {
			t.Error(errs)
		}
		text := ir.Print(r.Module)
		if m, errs := ir.Parse("module.ptir", []byte(text)); len(errs) > 0 || ir.Print(m) != text {
			t.Errorf("the module does not read back as it was written: %v", errs)
		}
		c.Output("module.ptir", text)
		if len(r.Unused) > 0 {
			c.Output("unused", strings.Join(r.Unused, "\n"))
		}
	})
}
