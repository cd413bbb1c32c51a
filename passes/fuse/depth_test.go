package fuse_test

import (
	"testing"

	"ptc/ir"
	"ptc/ir/irtest"
	"ptc/passes"
	"ptc/passes/pass"
)

func fused(t *testing.T, layers int) *ir.Module {
	t.Helper()
	m := irtest.Transformer(irtest.Sizes{Layers: layers, Batch: 2, Seq: 16, Heads: 2, Head: 8, FFN: 64, Vocab: 32})
	if err := passes.Run(&pass.Context{}, m, &passes.Options{Stop: "fuse"}); err != nil {
		t.Fatal(err)
	}
	return m
}

// Kernels grow with distinct work, not with depth; calls grow linearly.
func TestKernelsDoNotGrowWithDepth(t *testing.T) {
	kernels := func(m *ir.Module) map[string]bool {
		out := map[string]bool{}
		for _, f := range m.Funcs {
			if f.Class == ir.Kernel {
				f.Name = "k"
				out[ir.PrintFunc(f)] = true
			}
		}
		return out
	}
	two, six := fused(t, 2), fused(t, 6)
	a, b := kernels(two), kernels(six)
	if len(a) != len(b) {
		t.Errorf("%d kernels for 2 layers, %d for 6", len(a), len(b))
	}
	var differ int
	for text := range b {
		if !a[text] {
			differ++
		}
	}
	// The sum over all gradients has an operand for each.
	if differ > 1 {
		t.Errorf("%d kernels of 6 layers are not those of 2 layers", differ)
	}
	calls2, calls6 := len(two.Func("step").Ops), len(six.Func("step").Ops)
	ten := fused(t, 10)
	if calls10 := len(ten.Func("step").Ops); calls10-calls6 != calls6-calls2 {
		t.Errorf("%d, %d, %d calls for 2, 6, 10 layers", calls2, calls6, calls10)
	}
}

// A parameter's update is one call, which reads it, both its states and its
// gradient, and writes all that is new.
func TestUpdatesAreOneSweep(t *testing.T) {
	f := fused(t, 2).Func("step")
	for _, r := range f.Results {
		if r.Role != ir.RoleParam {
			continue
		}
		call := r.Value.Def
		for _, suffix := range []string{"/m", "/v"} {
			if f.Result(ir.RoleState, r.Path+suffix).Value.Def != call {
				t.Errorf("%s%s is written by another call than %s", r.Path, suffix, r.Path)
			}
		}
	}
}

// A layer of training takes the calls that its mathematics needs; a rule that
// fuses less shows here.
func TestCallsPerLayer(t *testing.T) {
	per := (len(fused(t, 6).Func("step").Ops) - len(fused(t, 2).Func("step").Ops)) / 4
	// 11 parameters: as many updates and sums of squares.
	const updates = 22
	if per > updates+39 {
		t.Errorf("%d calls for each layer beside %d for updates", per-updates, updates)
	}
}
