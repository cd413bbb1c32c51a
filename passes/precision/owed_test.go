package precision

import (
	"testing"

	"ptc/ir"
	"ptc/passes/partition"
	"ptc/passes/pass"
	"ptc/passes/passtest"
	"ptc/passes/propagate"
)

// What devices send of a gradient with reduce=bf16 is bf16, and the gradient
// itself stays f32.
func TestTermsAreCastBeforeTheyAreAdded(t *testing.T) {
	m := passtest.Parse(t, `ptir 1 global "t"
mesh dp=2
meta precision(reduce=bf16)
meta layout(name="l", rules=[shard(axes=(batch), over=(dp)), zero(level=1, over=(dp))])

func @step class=entry
  arg %0 : f32[a=4] param "w" init=normal(std=1.0)
  arg %1 : f32[] param "b" init=normal(std=1.0)
  arg %2 : f32[a=4, batch=6] data "x"
  %5 : f32[batch=6] = dot %0, %2 over=(a)
  %3 : f32[batch=6] = add %5, %1
  %6 : f32[] = reduce_sum %3 over=(batch)
  %8 : f32[a=4] = reduce_sum %2 over=(batch)
  %9 : f32[] = reduce_sum %3 over=(batch)
  %12 : f32[a=4] = sub %0, %8
  %13 : f32[] = sub %1, %9
  result %6 loss
  result %8 grad "w"
  result %9 grad "b"
  result %12 param "w"
  result %13 param "b"
end
`)
	before := m.Clone()
	for _, run := range []pass.Func{Run, propagate.Run, partition.Run} {
		if err := run(&pass.Context{}, m); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]int{}
	for _, o := range m.Funcs[0].Ops {
		if o.Name == "all_reduce" || o.Name == "reduce_scatter" {
			got[o.Name+" "+o.Args[0].Type.DType.String()]++
		}
	}
	// The scatter is of w's gradient, the second of b's; the loss stays f32.
	if len(got) != 3 || got["reduce_scatter bf16"] != 1 || got["all_reduce bf16"] != 1 || got["all_reduce f32"] != 1 {
		t.Errorf("the devices add up %v", got)
	}
	for _, r := range m.Funcs[0].Results {
		if r.Value.Type.DType != ir.F32 {
			t.Errorf("%s %s leaves as %s", r.Role, r.Path, r.Value.Type)
		}
	}
	passtest.Same(t, before, m)
}
