package excerpt_test

import (
	"fmt"
	"strings"
	"testing"

	"ptc/internal/ranges"
	"ptc/ir"
	"ptc/ir/excerpt"
)

// tasked leaves %1 to the backward task, in a ring of two places of n microbatches.
func tasked(t *testing.T, n int) *ir.Func {
	t.Helper()
	var ticks strings.Builder
	for m := range n {
		if fmt.Fprintf(&ticks, " forward:%d", m); m > 0 {
			fmt.Fprintf(&ticks, " backward:%d", m-1)
		}
	}
	text := fmt.Sprintf(`ptir 1 planned "m"
func @f arena=384 class=entry microbatches=%d
  task before once
  task forward
  task backward
  task after once
  ticks before%s backward:%d after
  arg %%0 : f32[a=16] data "x" at=0
  do before
    %%9 : f32[a=16] = call %%0 at=[320] fn=@exp
  end do
  do forward
    %%1 : f32[a=16] = call %%9 at=[64] fn=@exp micro_spread=[64, 2]
    %%2 : f32[a=16] = call %%1 at=[192] fn=@exp
  end do
  do backward
    %%3 : f32[a=16] = call %%1 at=[256] fn=@exp
  end do
end
func @exp class=kernel kind=map
  arg %%0 : f32[a=16] in
  %%1 : f32[a=16] = exp %%0
  result %%1 out
end
`, n, ticks.String(), n-1)
	m, errs := ir.Parse("test.ptir", []byte(text))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return m.Funcs[0]
}

func ticksOf(f *ir.Func) string {
	var out []string
	for _, t := range f.Ticks {
		out = append(out, fmt.Sprint(t.Name, ":", t.Micro))
	}
	return strings.Join(out, " ")
}

// An excerpt has two microbatches whose ticks are all alike, one after the other, each
// with a place of its own in the frame of a ring.
func TestFewMicrobatches(t *testing.T) {
	x := excerpt.Of(tasked(t, 100))
	if want := "before:0 forward:0 backward:0 forward:1 backward:1 after:0"; ticksOf(x.F) != want || x.F.Micro != 2 {
		t.Errorf("ticks %s of %d microbatches", ticksOf(x.F), x.F.Micro)
	}
	if want := (excerpt.Frame{Memory: ir.Device, Span: ranges.Span{Lo: 64, Hi: 192}}); len(x.Frames) != 1 || x.Frames[0] != want {
		t.Fatalf("frames %v", x.Frames)
	}
	o, begin := x.F.Ops[1], x.Parts[0].Begin
	if s := o.Spread[0]; o.At[0] != begin || begin < 384 || s.MicroRing != 2 || begin+s.MicroStep+64 > x.Parts[0].End {
		t.Errorf("at %d, %v, in %v", o.At[0], s, x.Parts[0])
	}
	if n, _ := x.Frame(ir.Device, o.At[0]); n != 0 {
		t.Errorf("in frame %d", n)
	}
	if n, _ := x.Frame(ir.Device, x.F.Ops[2].At[0]); n != -1 {
		t.Errorf("what one tick needs is in frame %d", n)
	}
}

// A microbatch whose ticks are in another order is in the excerpt as well; where there are
// few, or something runs once between ticks, all are.
func TestOrdersOfTicks(t *testing.T) {
	f := tasked(t, 6)
	for i, x := range f.Ticks { // the third one goes backward first
		if x.Micro == 2 && x.Name == "forward" {
			f.Ticks[i].Task = f.Tasks[2]
		} else if x.Micro == 2 && x.Name == "backward" {
			f.Ticks[i].Task = f.Tasks[1]
		}
	}
	if x := excerpt.Of(f); x.F.Micro != 3 || ticksOf(x.F) != "before:0 forward:0 backward:0 backward:1 forward:1 forward:2 backward:2 after:0" {
		t.Errorf("ticks %s", ticksOf(x.F))
	}
	if x := excerpt.Of(tasked(t, 2)); x.F.Micro != 2 || len(x.Frames) != 1 {
		t.Errorf("%d microbatches of 2, frames %v", x.F.Micro, x.Frames)
	}
	f = tasked(t, 6)
	f.Ticks[0], f.Ticks[1] = f.Ticks[1], f.Ticks[0]
	if x := excerpt.Of(f); x.F.Micro != 6 {
		t.Errorf("%d microbatches, with a task between their ticks", x.F.Micro)
	}
}

// Rings that run into one another are none.
func TestRows(t *testing.T) {
	for _, breakIt := range []func(o *ir.Op){
		func(o *ir.Op) { o.At[0], o.Spread = 128, []ir.Spread{{MicroStep: 128, MicroRing: 2}} },
		func(o *ir.Op) { o.At[0], o.Spread = 128, []ir.Spread{{MicroStep: 64, MicroRing: 2}} },
		func(o *ir.Op) { o.At[0], o.Spread = 64, []ir.Spread{{MicroRing: 1}} },
	} {
		f := tasked(t, 6)
		breakIt(f.Ops[2])
		if _, ok := excerpt.Rows(f); ok {
			t.Errorf("%v at %v", f.Ops[2].Spread, f.Ops[2].At)
		}
		if x := excerpt.Of(f); x.F != f {
			t.Error("an excerpt")
		}
	}
	if rows, ok := excerpt.Rows(tasked(t, 6)); !ok || len(rows) != 1 || rows[0].Ring != 2 || len(rows[0].Values) != 1 {
		t.Errorf("rows %v", rows)
	}
}
