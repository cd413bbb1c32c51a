package excerpt_test

import (
	"fmt"
	"strings"
	"testing"

	"ptc/internal/ranges"
	"ptc/ir"
	"ptc/ir/excerpt"
)

// program has a frame of two values for each of n instances: what goes on, of which
// the last one is outside, and %12; %13 is in a ring of two places.
func program(t *testing.T, n int) *ir.Func {
	t.Helper()
	text := fmt.Sprintf(`ptir 1 planned "m"
func @f arena=%d class=entry
  stack blocks count=%d
  arg %%0 : f32[a=16] data "x" at=0
  %%1 : f32[a=16] = call %%0 at=[64] fn=@exp
  for blocks
    %%10 : f32[a=16] = enter %%1 at=[64] spread=[128, %d]
    %%11 : f32[a=16] = call %%10 at=[192] fn=@exp spread=[128, %d]
    %%12 : f32[a=16] = call %%10 at=[128] fn=@exp spread=[128, %d]
    %%13 : f32[a=16] = call %%11 ahead=-1 at=[%d] fn=@exp spread=[64, 2]
    %%14 : f32[a=16] = leave %%10, %%11 at=[%d]
  end for
  for blocks
    %%20 : f32[a=16] = call %%12 at=[%d] fn=@exp
  end for
  %%21 : f32[a=16] = call %%14 at=[%d] fn=@exp
  result %%21 grad "x"
end
func @exp class=kernel kind=map
  arg %%0 : f32[a=16] in
  %%1 : f32[a=16] = exp %%0
  result %%1 out
end
`, 128*n+320, n, n, n, n, 128*n+128, 128*n+64, 128*n+128, 128*n+256)
	m, errs := ir.Parse("test.ptir", []byte(text))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return m.Funcs[0]
}

func places(f *ir.Func) string {
	var out []string
	for _, o := range f.Ops {
		out = append(out, fmt.Sprint(o.Name, o.At, o.Spread))
	}
	return strings.Join(out, " ")
}

// An excerpt has as many instances as the proof needs: no more for more layers, but for
// the numbers modulo the rings, and all of a small stack.
func TestFewInstances(t *testing.T) {
	for n, want := range map[int]int{3: 3, 24: 12, 96: 12, 97: 13, 1000: 12} {
		f := program(t, n)
		was := places(f)
		x := excerpt.Of(f)
		if got := x.F.Stacks[0].Count; got != want || (n == want) != (x.F == f) {
			t.Errorf("%d instances: %d in the excerpt, want %d", n, got, want)
		}
		if places(f) != was {
			t.Errorf("%d instances: the function itself is changed", n)
		}
	}
}

// What is in a frame has addresses for itself, with what enters first and what leaves
// last; all else is where it was.
func TestFrames(t *testing.T) {
	x := excerpt.Of(program(t, 1000))
	if len(x.Frames) != 1 {
		t.Fatalf("frames: %v", x.Frames)
	}
	fr, n := x.Parts[0], int64(x.F.Stacks[0].Count)
	if want := (excerpt.Frame{Memory: ir.Device, Span: ranges.Span{Lo: 64, Hi: 64 + 128*1000 + 64}}); x.Frames[0] != want {
		t.Errorf("frame %v, want %v", x.Frames[0], want)
	}
	if fr.End != fr.Begin+128*n+64 || fr.Begin < 128*1000+320 {
		t.Errorf("addresses %v of %d instances", fr, n)
	}
	at := map[string]int64{}
	for i, o := range x.F.Ops {
		at[fmt.Sprint(i, " ", o.Name)] = o.At[0]
	}
	for name, want := range map[string]int64{"0 call": fr.Begin, "1 enter": fr.Begin, "2 call": fr.Begin + 128, "3 call": fr.Begin + 64,
		"4 call": 128*1000 + 128, "5 leave": fr.Begin + 128*n, "6 call": 128*1000 + 128, "7 call": 128*1000 + 256} {
		if at[name] != want {
			t.Errorf("%s is at %d, want %d", name, at[name], want)
		}
	}
}

// Where places are not as an excerpt needs them, the whole function is it.
func TestWholeFunctions(t *testing.T) {
	for _, breakIt := range []func(f *ir.Func){
		func(f *ir.Func) { f.Ops[0].At[0] += 64 },                               // what enters is not where it is outside
		func(f *ir.Func) { f.Ops[3].Spread[0].Step = 64 },                       // two steps in one stretch
		func(f *ir.Func) { f.Ops[1].Args[0] = f.Args[0].Value },                 // an argument enters
		func(f *ir.Func) { f.Ops[4].Spread[0].Ring = 997 },                      // a ring that is as good as all
		func(f *ir.Func) { f.Ops[2].Spread[0].Step = -128 },                     // a row that goes back
		func(f *ir.Func) { f.Stacks[0].Count, f.Ops[4].Spread[0].Ring = 11, 5 }, // few instances
	} {
		f := program(t, 1000)
		breakIt(f)
		if x := excerpt.Of(f); x.F != f {
			t.Errorf("an excerpt of %d instances: %s", x.F.Stacks[0].Count, places(x.F))
		}
	}
}
