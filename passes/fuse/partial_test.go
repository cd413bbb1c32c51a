package fuse_test

import (
	"testing"

	"ptc/ir"
	"ptc/ir/verify"
	"ptc/passes/fuse"
	"ptc/passes/pass"
	"ptc/passes/passtest"
)

// A large reduction over an axis that devices share is split in two, both of
// which are partial where it is.
func TestPartialReductionIsSplit(t *testing.T) {
	m := passtest.Parse(t, `ptir 1 local "M"
mesh tp = 2

func @step class=entry
  arg %0 : f32[experts=4, embed=64, ffn=128@tp] param "w"
  %1 : f32[] partial(tp) = reduce_sum %0 over=(experts, embed, ffn)
  %2 : f32[] = all_reduce %1 over=(tp) reduce=sum
  result %2 loss
end
`)
	if err := fuse.Run(&pass.Context{}, m); err != nil {
		t.Fatal(err)
	}
	if errs := verify.Module(m); len(errs) > 0 {
		t.Fatal(errs)
	}
	partial := 0
	for _, o := range m.Func("step").Ops {
		if o.Name == "call" && len(o.Results[0].Type.Partial) == 1 {
			partial++
		}
	}
	if partial != 2 {
		t.Errorf("%d calls are partial, not 2:\n%s", partial, ir.Print(m))
	}
}
