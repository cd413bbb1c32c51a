package ir_test

import (
	"strings"
	"testing"

	"ptc/ir"
	"ptc/ir/verify"
)

// What is ahead runs in an earlier turn than what stands beside it, and what is behind
// in a later one; the first and the last turns have what instances there are.
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

// What reads the values of all instances outside of their run has the operands of each,
// and of a collective with them the axis of each.
func TestOfAllInstances(t *testing.T) {
	const text = `ptir 1 local "m"
mesh dp=2

func @step class=entry
  stack l count=2
  arg %0 : f32[a=2@dp] each l param "l.{i}.v"
  arg %1 : f32[b=3@dp] each l param "l.{i}.w"
  arg %2 : f32[c=2@dp] param "x"
  %3 : f32[a=4] each l, %4 : f32[b=6] each l, %5 : f32[c=4] = all_gather %0, %1, %2 axes=(a, b, c) over=(dp) parts=2
  %6 : f32[a=4] each l = all_gather %0 axis=a over=(dp) parts=2
  result %3 grad "l.{i}.v"
  result %4 grad "l.{i}.w"
  result %5 grad "x"
end
`
	parse := func(text string) (*ir.Module, bool) {
		m, errs := ir.Parse("all.ptir", []byte(text))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return m, len(verify.Module(m)) == 0
	}
	m, ok := parse(text)
	if !ok {
		t.Fatalf("%v", verify.Module(m))
	}
	u := m.Unrolled()
	if errs := verify.Module(u); len(errs) > 0 {
		t.Fatalf("%v\n%s", errs, ir.Print(u))
	}
	for i, want := range []string{"a, b, a, b, c", "a, a"} {
		if got := strings.Join(u.Funcs[0].Ops[i].Attrs.Names("axes"), ", "); got != want {
			t.Errorf("axes (%s), want (%s)", got, want)
		}
	}
	for _, edit := range [][2]string{
		{"%3 : f32[a=4] each l, ", "%3 : f32[a=4], "},
		{"%5 : f32[c=4] = all_gather", "%5 : f32[c=4] each l = all_gather"},
		{"%6 : f32[a=4] each l = all_gather %0 axis=a over=(dp) parts=2", "%6 : f32[a=4] each l = neg %3"},
	} {
		if _, ok := parse(strings.Replace(text, edit[0], edit[1], 1)); ok {
			t.Errorf("%q is not refused", edit[1])
		}
	}
}
