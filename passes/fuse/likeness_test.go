package fuse

import (
	"testing"

	"ptc/ir"
)

// TestForms: bodies have one form where they differ in the values that they read alone.
func TestForms(t *testing.T) {
	m, errs := ir.Parse("t.ptir", []byte(`ptir 1 global "t"

func @block class=entry
  arg %0 : f32[seq=8] data "x"
  arg %1 : f32[seq=8] data "y"
  arg %2 : f32[seq=4] data "z"
  %3 : f32[seq=8] = sub %0, %1
  %4 : f32[seq=8] = sub %1, %0
  %5 : f32[seq=8] = sub %0, %0
  %6 : f32[seq=8] = add %0, %1
  %7 : f32[seq=4] = sub %2, %2
  %8 : f32[] = reduce_sum %0 over=(seq)
  %9 : f32[] = reduce_max %0 over=(seq)
  result %3 grad "y"
end
`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	f, l, seen := m.Funcs[0], newLikeness(), map[string]int{}
	form := func(outs int, ops ...int) string {
		b := body{}
		known := map[*ir.Value]bool{}
		for _, n := range ops {
			o := f.Ops[n-3]
			for _, a := range o.Args {
				if !known[a] {
					known[a] = true
					b.ins = append(b.ins, a)
				}
			}
			b.ops = append(b.ops, o)
			known[o.Result()] = true
		}
		for _, o := range b.ops[:outs] {
			b.outs = append(b.outs, o.Result())
		}
		return string(l.form(b))
	}
	if a, b := form(1, 3), form(1, 4); a != b {
		t.Errorf("x − y and y − x have the forms %q and %q", a, b)
	}
	for i, text := range []string{form(1, 3), form(1, 5), form(1, 6), form(1, 7), form(1, 8), form(1, 9), form(1, 3, 4), form(2, 3, 4), form(1, 3, 3)} {
		if j, ok := seen[text]; ok {
			t.Errorf("bodies %d and %d have one form", j, i)
		}
		seen[text] = i
	}
}
