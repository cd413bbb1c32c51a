package ir_test

import (
	"strings"
	"testing"

	"ptc/ir"
)

// What is ahead runs in an earlier iteration than what stands next to it, and what is behind
// in a later one; the first and the last iterations have what instances there are.
func TestAhead(t *testing.T) {
	m, errs := ir.Parse("ahead.ptir", []byte(`ptir 1 global "m"

func @step class=entry
  stack l count=3
  arg %0 : f32[a=2] data "x"
  arg %1 : f32[a=2] each l param "l.{i}.w"
  for l
    %2 : f32[a=2] = enter %0 // l.{i}
    %3 : f32[a=2] = neg %1 ahead=1 // l.{i}
    %4 : f32[a=2] = add %2, %3 // l.{i}
    %5 : f32[a=2] = exp %4 ahead=-1 // l.{i}
    %6 : f32[a=2] = leave %2, %4 // l.{i}
  end for
  result %6 stat "y"
end
`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var got []string
	for _, o := range m.Unrolled().Funcs[0].Ops {
		got = append(got, o.Name+" "+o.Scope)
	}
	const want = "neg l.0, neg l.1, add l.0, neg l.2, add l.1, exp l.0, add l.2, exp l.1, exp l.2"
	if s := strings.Join(got, ", "); s != want {
		t.Errorf("the order is\n%s, want\n%s", s, want)
	}
	if again := ir.Print(m); !strings.Contains(again, "neg %1 ahead=1") || !strings.Contains(again, "exp %4 ahead=-1") {
		t.Errorf("the text has no `ahead`:\n%s", again)
	}
}
