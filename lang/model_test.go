package lang_test

import (
	"os"
	"testing"

	"ptc/ir"
	"ptc/lang"
	"ptc/lang/syntax"
	"ptc/stdlib"
)

// TestModelUnder: a model that is lowered once is, under each layout of a file, what the file is under that layout; mistakes in
// one layout leave no trace in the next.
func TestModelUnder(t *testing.T) {
	src, err := os.ReadFile("../examples/gpt/gpt.ptl")
	if err != nil {
		t.Fatal(err)
	}
	src = append(src, "layout wrong { mesh tp = 3\nshard heads over tp }\nlayout half { precision { compute = f16 } }\n"...)
	p, errs := lang.LoadWith("gpt.ptl", src, nil, stdlib.Read)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	f, _ := syntax.Parse("gpt.ptl", src)
	for _, omit := range []bool{false, true} {
		m, errs := p.LowerModel(lang.Options{Omit: omit})
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		before := ir.Print(m.Module())
		for range 2 {
			for _, l := range syntax.Decls[*syntax.Layout](f) {
				want, wrong := p.Lower(lang.Options{Layout: l.Name.Name, Omit: omit})
				got, errs := m.Under(l)
				if errs.Error() != wrong.Error() {
					t.Fatalf("%s: %v, expected %v", l.Name.Name, errs, wrong)
				}
				if wrong != nil {
					continue
				}
				if ir.Print(got.Module) != ir.Print(want.Module) || got.Layout != want.Layout || got.Params != want.Params || len(got.Omitted) != len(want.Omitted) {
					t.Errorf("%s is lowered to another module", l.Name.Name)
				}
			}
		}
		if ir.Print(m.Module()) != before {
			t.Error("layouts change the model")
		}
	}
	if m, errs := p.LowerModel(lang.Options{}); len(errs) == 0 {
		if r, errs := m.Under(nil); len(errs) > 0 || r.Layout != "single" {
			t.Errorf("one device: %v", errs)
		}
	}
}
