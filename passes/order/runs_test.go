package order_test

import (
	"math/rand"
	"testing"

	"ptc/ir"
	"ptc/ir/verify"
	"ptc/passes/check"
	"ptc/passes/fuse"
	"ptc/passes/memory"
	"ptc/passes/order"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// repeated is a random module with runs, to the end.
func repeated(t *testing.T, seed int64, count, ahead int) (*ir.Module, check.Inputs) {
	t.Helper()
	r := rand.New(rand.NewSource(seed))
	m := passtest.RandomRuns(r, count)
	in := check.RandomInputs(m.Unrolled(), seed)
	if err := fuse.Run(&pass.Context{}, m); err != nil {
		t.Fatal(err)
	}
	if ahead > 0 {
		passtest.RandomAhead(r, m.Funcs[0], ahead)
	}
	for _, run := range []pass.Func{memory.Run, order.Run} {
		if err := run(&pass.Context{}, m); err != nil {
			t.Fatal(err)
		}
	}
	return m, in
}

// What waits in a run does so for every instance, and written out, calls between two
// waits give the same bytes in whatever order they run.
func TestRuns(t *testing.T) {
	first := 0
	for seed := range int64(60) {
		m, in := repeated(t, seed, []int{1, 2, 4, 9, 20}[seed%5], []int{0, 1, 0, 2}[seed%4])
		if errs := verify.Module(m); len(errs) > 0 {
			t.Fatalf("seed %d: %v\n%s", seed, errs, ir.Print(m))
		}
		for _, o := range m.Funcs[0].Ops {
			if o.Wait == ir.WaitFirst {
				first++
			}
		}
		if text := ir.Print(m); first > 0 {
			if again, errs := ir.Parse("again.ptir", []byte(text)); len(errs) > 0 || ir.Print(again) != text {
				t.Fatalf("seed %d: %v\n%s", seed, errs, text)
			}
		}
		out := m.Unrolled()
		if bugs := order.Check(out); len(bugs) > 0 {
			t.Fatalf("seed %d, written out: %v\n%s", seed, bugs, ir.Print(m))
		}
		want := execute(t, out, in, nil)
		for k := range 4 {
			if got := execute(t, out, in, rand.New(rand.NewSource(int64(k)))); got != want {
				t.Fatalf("seed %d, order %d gives other bytes:\n%s", seed, k, ir.Print(m))
			}
		}
	}
	if first < 10 {
		t.Errorf("%d calls wait for their first instance alone", first)
	}
}

// A wait that is taken away from a run is missed exactly where it is missed in what is
// written out.
func TestWaitsOfRuns(t *testing.T) {
	missed, idle := 0, 0
	for seed := range int64(40) {
		m, _ := repeated(t, seed, []int{9, 12, 20}[seed%3], []int{0, 1, 0, 2}[seed%4])
		for i, o := range m.Funcs[0].Ops {
			was := o.Wait
			if was != ir.WaitAll && was != ir.WaitFirst {
				continue
			}
			o.Wait = ir.NoWait
			few, all := len(order.Check(m)) > 0, len(order.Check(m.Unrolled())) > 0
			if all && !few {
				t.Fatalf("seed %d: operation %d needs its wait, and it is not missed:\n%s", seed, i, ir.Print(m))
			}
			if missed++; !few {
				missed, idle = missed-1, idle+1
			}
			o.Wait = was
		}
	}
	t.Logf("%d waits are missed, %d are not", missed, idle)
	if missed < 100 || idle > missed/10 {
		t.Errorf("%d waits are missed, %d are not", missed, idle)
	}
}
