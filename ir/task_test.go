package ir_test

import (
	"strings"
	"testing"

	"ptc/ir"
)

const tasks = `ptir 1 planned "m"
func @step class=entry microbatches=3
  task forward
  task backward
  task after once
  ticks forward:0 forward:1 backward:0 forward:2 backward:1 backward:2 after
  arg %0 : f32[a=16] param "w" at=0
  do forward
    %1 : f32[a=16] = call %0 at=[64] fn=@exp micro_spread=[64, 2]
  end do
  do backward
    %2 : f32[a=16] = enter_tick at=[192] axes={a=16} dtype=f32
    %3 : f32[a=16] = call %2, %1 at=[192] fn=@add fn_first=@exp
    %4 : f32[a=16] = leave_tick %2, %3 at=[192]
  end do
  do after
    %5 : f32[a=16] = call %4 at=[256] fn=@exp
  end do
  result %5 grad "w"
end
func @exp class=kernel kind=map
  arg %0 : f32[a=16] in
  %1 : f32[a=16] = exp %0
  result %1 out
end
func @add class=kernel kind=map
  arg %0 : f32[a=16] in
  arg %1 : f32[a=16] in
  %2 : f32[a=16] = add %0, %1
  result %2 out
end
`

// What a task leaves to another one is in the ring's place of its microbatch, whether
// ticks alone are written out or runs too; and the text says so.
func TestPlacesOfMicrobatches(t *testing.T) {
	m, errs := ir.Parse("test.ptir", []byte(tasks))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if again, errs := ir.Parse("test.ptir", []byte(ir.Print(m))); len(errs) > 0 || ir.Print(again) != ir.Print(m) || !strings.Contains(ir.Print(m), "micro_spread=[64, 2]") {
		t.Fatalf("%v\n%s", errs, ir.Print(m))
	}
	f := m.Funcs[0]
	for name, g := range map[string]*ir.Func{"unrolled": f.Unrolled()} {
		var got []string
		for _, o := range g.Ops {
			got = append(got, o.Callee.Name+" "+ir.Ints(o.At).String())
		}
		if want := "exp [64], exp [128], exp [192], exp [64], add [192], add [192], exp [256]"; strings.Join(got, ", ") != want {
			t.Errorf("%s:\n got %s\nwant %s", name, strings.Join(got, ", "), want)
		}
	}
}

// A message that is received ahead is begun in the tick before its own, and waited for
// in its own; that of the first tick at its head.
func TestReceivedAhead(t *testing.T) {
	m, errs := ir.Parse("test.ptir", []byte(`ptir 1 fused "m"
mesh pp=2
func @step class=entry microbatches=2 stage=1
  task forward
  task backward
  ticks forward:0 backward:0 forward:1 backward:1
  do forward
    %0 : f32[a=16] = recv ahead=1 axes={a=16} dtype=f32 each=10 over=(pp) peer=0 start=true tag=1
    %1 : f32[a=16] = done %0
    %2 : f32[a=16] = exp %1
  end do
  do backward
    %3 : f32[a=16] = recv ahead=1 axes={a=16} dtype=f32 each=10 over=(pp) peer=0 start=true tag=2
    %4 : f32[a=16] = done %3
    %5 : f32[a=16] = mul %4, %2
  end do
end
`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	f := m.Funcs[0]
	for name, g := range map[string]*ir.Func{"unrolled": f.Unrolled()} {
		var got []string
		for _, o := range g.Ops {
			if s := o.Name; o.Attrs.Has("tag") {
				got = append(got, s+" "+o.Attrs.Get("tag").String())
			} else {
				got = append(got, s)
			}
		}
		const want = "recv 1, recv 2, done, exp, recv 11, done, mul, recv 12, done, exp, done, mul"
		if s := strings.Join(got, ", "); s != want {
			t.Errorf("%s:\n got %s\nwant %s", name, s, want)
		}
	}
}
