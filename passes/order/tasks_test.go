package order_test

import (
	"strings"
	"testing"

	"ptc/ir"
	"ptc/passes/order"
	"ptc/passes/pass"
)

const tasks = `ptir 1 planned "m"
func @step arena=512 class=entry microbatches=5
  stack blocks count=3
  task forward
  task backward
  ticks forward:0 forward:1 backward:0 forward:2 backward:1 forward:3 backward:2 forward:4 backward:3 backward:4
  arg %0 : f32[a=16] data "x" at=0
  do forward
    %1 : f32[a=16] = call %0 at=[64] fn=@exp micro_spread=[64, 2]
  end do
  do backward
    for blocks
      %3 : f32[a=16] = call %1 ahead=1 at=[320] fn=@exp spread=[64, 3]
      %2 : f32[a=16] = call %0 at=[192] fn=@exp
    end for
    %4 : f32[a=16] = call %0 at=[256] fn=@exp
  end do
end
func @exp class=kernel kind=map
  arg %0 : f32[a=16] in
  %1 : f32[a=16] = exp %0
  result %1 out
end
`

// What comes first in the first iteration of a run begins a tick of the task. Without its
// wait, what is under way of other ticks would have to be looked at.
func TestTasksBeginWithWait(t *testing.T) {
	parse := func() *ir.Module {
		m, errs := ir.Parse("test.ptir", []byte(tasks))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return m
	}
	m := parse()
	if err := order.Run(&pass.Context{}, m); err != nil {
		t.Fatal(err)
	}
	if bugs := order.Check(m); len(bugs) > 0 {
		t.Fatal(bugs)
	}
	var got []ir.Wait
	for _, o := range m.Funcs[0].Ops {
		got = append(got, o.Wait)
	}
	// %2 writes one place for every instance.
	if got[0] != ir.WaitAll || got[1] != ir.WaitAll || got[2] != ir.WaitAll || got[3] != ir.NoWait {
		t.Errorf("waits: %v", got)
	}
	for i := range 2 {
		o := m.Funcs[0].Ops[i]
		o.Wait = ir.NoWait
		if bugs := order.Check(m); len(bugs) == 0 || !strings.Contains(bugs.Error(), "begins with") {
			t.Errorf("operation %d does not wait: %v", i, bugs)
		}
		o.Wait = ir.WaitAll
	}
}
