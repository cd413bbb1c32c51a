package fuse

import (
	"math/rand"
	"testing"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/passes/pass"
	"ptc/passes/passtest"
	"ptc/passes/validate"
)

// inTwo fuses m for a target that wants every sum in two parts.
func inTwo(c *pass.Context, m *ir.Module) error {
	c.Target.Parts = func(*fusion.Kernel) int64 { return 2 }
	return Run(c, m)
}

// The archives show which sums are cut in parts, and what becomes of the work around them.
func TestGoldenParts(t *testing.T) { passtest.Golden(t, "testdata/parts/*.txtar", inTwo, nil) }

// Sums in parts are those in one, in random programs, and are proved to be.
func TestRandomParts(t *testing.T) {
	cut := 0
	for seed := range int64(120) {
		before := passtest.RandomModule(rand.New(rand.NewSource(seed)), 40)
		before.Level = ir.Local
		whole, parts := before.Clone(), before.Clone()
		if err := Run(&pass.Context{}, whole); err != nil {
			t.Fatal(err)
		}
		c := &pass.Context{}
		if err := inTwo(c, parts); err != nil {
			t.Fatal(err)
		}
		sound(t, parts)
		passtest.Same(t, before, parts)
		table := validate.New()
		x, err := table.Module(before)
		if err != nil {
			t.Fatal(err)
		}
		y, err := table.Module(parts)
		if err == nil {
			err = table.Same(x, y)
		}
		if err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, ir.Print(parts))
		}
		if ir.Print(whole) != ir.Print(parts) {
			cut++
		}
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
	if cut < 20 {
		t.Errorf("found %d programs with sums in parts; expected 20 or more", cut)
	}
}
