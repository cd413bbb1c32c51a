package compiler_test

import (
	"slices"
	"testing"
	"time"

	"ptc/bench/matrix"
	"ptc/ir"
	"ptc/passes/check"
	"ptc/passes/passtest"
)

// TestMutants: what TestMutants of passes/validate does with a transformer, for
// experts: dispatch and combination over an expert parallel mesh.
func TestMutants(t *testing.T) {
	moe, err := matrix.Find("moe")
	if err != nil {
		t.Fatal(err)
	}
	var p passtest.Prover
	layouts := []string{"dp2 ep2 tp2", "dp2 1f1b:2:2 ep2"}
	if *slow {
		layouts = append(layouts, "ep4", "node2 ep2")
	}
	for _, name := range layouts {
		i := slices.IndexFunc(matrix.Layouts, func(l matrix.Layout) bool { return l.For(moe) && l.Name() == name })
		if i < 0 {
			t.Fatalf("no layout %q in the matrix", name)
		}
		dumps := map[string]*ir.Module{}
		keep := func(_ int, pass string, text func() string, _ time.Duration) error {
			if pass == "lower" || pass == "schedule" || pass == "order" {
				m, errs := ir.Parse(pass, []byte(text()))
				if len(errs) > 0 {
					return errs
				}
				dumps[pass] = m
			}
			return nil
		}
		if _, err := matrix.Compile("..", moe, matrix.Layouts[i], "ref", keep); err != nil {
			t.Fatal(err)
		}
		in := check.RandomInputs(dumps["lower"], 1)
		p.Try(t, dumps["schedule"], in, passtest.Exchanges, 2)
		p.Try(t, dumps["order"], in, append(slices.Clone(passtest.Exchanges), passtest.Places...), 2)
	}
	if tried, harmful, accepted := p.Report(t); tried < 50*len(layouts) || harmful < 30*len(layouts) || accepted < 2*len(layouts) {
		t.Errorf("%d mutants, %d harmful, %d accepted: too few to prove anything", tried, harmful, accepted)
	}
}

func mustFind(t *testing.T, name string) matrix.Model {
	t.Helper()
	m, err := matrix.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
