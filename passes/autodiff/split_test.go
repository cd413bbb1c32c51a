package autodiff

import (
	"math/rand"
	"testing"

	"ptc/ir"
	"ptc/ir/verify"
	"ptc/passes/pass"
)

// A stack in parts is the same, written out.
func TestSplitRuns(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	for i := range 200 {
		m := randomRuns(r)
		if err := Run(&pass.Context{}, m); err != nil {
			t.Fatal(err)
		}
		f := m.Funcs[0]
		want := ir.PrintFunc(f.Unrolled())
		var counts []int
		for left := f.Stacks[0].Count; left > 0; {
			n := 1 + r.Intn(left)
			counts, left = append(counts, n), left-n
		}
		f.Split(f.Stacks[0], counts)
		if errs := verify.Module(m); len(errs) > 0 {
			t.Fatalf("%d: %v\n%s", i, errs, ir.Print(m))
		}
		if have := ir.PrintFunc(f.Unrolled()); have != want {
			t.Fatalf("%d: %v\n%s\n%s", i, counts, want, have)
		}
	}
}
