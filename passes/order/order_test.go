package order_test

import (
	"fmt"
	"math/rand"
	"testing"

	"ptc/internal/golden"
	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/passes"
	"ptc/passes/check"
	"ptc/passes/fuse"
	"ptc/passes/memory"
	"ptc/passes/order"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

func TestGolden(t *testing.T) { passtest.Golden(t, "testdata/*.txtar", order.Run, nil) }

func TestGoldenDevices(t *testing.T) {
	golden.Run(t, "testdata/devices/*.txtar", func(t *testing.T, c *golden.Case) {
		m := passtest.Parse(t, c.Input("before.ptir"))
		if err := order.Run(&pass.Context{}, m); err != nil {
			t.Fatal(err)
		}
		c.Output("after.ptir", ir.Print(m))
	})
}

// ordered is a random module, or for seed 0 a training step, to the end.
func ordered(t *testing.T, seed int64) (*ir.Module, check.Inputs) {
	t.Helper()
	if seed == 0 {
		m := irtest.Transformer(irtest.Sizes{Layers: 2, Batch: 2, Seq: 4, Heads: 2, Head: 2, FFN: 5, Vocab: 7, Dropout: true})
		m.Funcs = m.Funcs[:1]
		in := check.RandomInputs(m, 1)
		if err := passes.Run(&pass.Context{}, m, nil); err != nil {
			t.Fatal(err)
		}
		return m.Unrolled(), in
	}
	m := passtest.RandomModule(rand.New(rand.NewSource(seed)), 60)
	m.Level = ir.Local
	in := check.RandomInputs(m, seed)
	for _, run := range []pass.Func{fuse.Run, memory.Run, order.Run} {
		if err := run(&pass.Context{}, m); err != nil {
			t.Fatal(err)
		}
	}
	return m, in
}

// execute runs the calls; those between two waits in an order of r's choice,
// or as they stand.
func execute(t *testing.T, m *ir.Module, in check.Inputs, r *rand.Rand) string {
	t.Helper()
	f := m.Funcs[0]
	a, err := passtest.NewArena(m, f, in)
	if err != nil {
		t.Fatal(err)
	}
	run := func(lo, hi int) {
		at := make([]int, hi-lo)
		for i := range at {
			at[i] = lo + i
		}
		if r != nil {
			r.Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
		}
		for _, i := range at {
			if err := a.Call(i); err != nil {
				t.Fatal(err)
			}
		}
	}
	from := 0
	for i, o := range f.Ops {
		if o.Wait == ir.WaitAll {
			run(from, i)
			from = i
		}
	}
	run(from, len(f.Ops))
	out, err := a.Results()
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(out, a.Bytes)
}

// Calls between two waits give the same bytes in whatever order they run.
func TestInterleavings(t *testing.T) {
	for seed := int64(0); seed <= 25; seed++ {
		m, in := ordered(t, seed)
		want := execute(t, m, in, nil)
		for k := range 6 {
			if got := execute(t, m, in, rand.New(rand.NewSource(int64(k)))); got != want {
				t.Fatalf("seed %d, order %d gives other bytes:\n%s", seed, k, ir.Print(m))
			}
		}
	}
}

// No wait can be left out: without it, some order gives other bytes. That is
// so for each where calls read and write what they say.
func TestWaitsAreNeeded(t *testing.T) {
	needed, all := 0, 0
	for seed := int64(1); seed <= 36; seed++ {
		m, in := ordered(t, seed)
		want := execute(t, m, in, nil)
		for _, o := range m.Funcs[0].Ops {
			if o.Wait != ir.WaitAll {
				continue
			}
			all++
			o.Wait = ir.NoWait
			for k := range 8 {
				if execute(t, m, in, rand.New(rand.NewSource(int64(k)))) != want {
					needed++
					break
				}
			}
			o.Wait = ir.WaitAll
		}
	}
	if all < 20 || needed < all*9/10 {
		t.Errorf("%d of %d waits are needed", needed, all)
	}
}

// Check refuses every change of the waits with which some order gives other
// bytes; more waits than needed it accepts.
func TestCheck(t *testing.T) {
	refused, accepted := 0, 0
	try := func(m *ir.Module, in check.Inputs, want, what string) {
		if len(order.Check(m)) > 0 {
			refused++
			return
		}
		accepted++
		for k := range 8 {
			if execute(t, m, in, rand.New(rand.NewSource(int64(k)))) != want {
				t.Errorf("%s: accepted, and an order gives other bytes:\n%s", what, ir.Print(m))
			}
		}
	}
	for seed := int64(1); seed <= 36; seed++ {
		m, in := ordered(t, seed)
		want := execute(t, m, in, nil)
		ops := m.Funcs[0].Ops
		for i, o := range ops {
			old := o.Wait
			o.Wait = ir.Waits(old != ir.WaitAll)
			try(m, in, want, fmt.Sprintf("seed %d, wait %d turned", seed, i))
			if i > 0 && old == ir.WaitAll {
				before := ops[i-1].Wait // one call earlier
				ops[i-1].Wait = ir.WaitAll
				try(m, in, want, fmt.Sprintf("seed %d, wait %d earlier", seed, i))
				ops[i-1].Wait = before
			}
			o.Wait = ir.WaitUnset
			if len(order.Check(m)) == 0 {
				t.Errorf("a call that does not say whether it waits is accepted")
			}
			o.Wait = old
		}
	}
	if refused < 40 || accepted < 40 {
		t.Errorf("%d changes refused, %d accepted", refused, accepted)
	}
	t.Logf("%d changes refused, %d accepted", refused, accepted)
}
