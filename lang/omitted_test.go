package lang

import (
	"testing"

	"ptc/ir"
	array "ptc/ir/tensor"
)

// An argument whose default is the word none is left out or given, also as a tensor; words
// are compared with strings as before.
func TestNone(t *testing.T) {
	src := `fn given(x = none) { return 1 if x != none else 0 }
fn left(x = none) { return 1 if none == x else 0 }
`
	x := array.New(ir.Type{DType: ir.F32, Axes: []ir.Axis{{Name: "a", Size: 2}}})
	for expr, want := range map[string]float64{
		"given()": 0, "left()": 1, "given(x)": 1, "left(x)": 0, "given(3)": 1, "left(true)": 0,
		"given(none)": 0, `given("none")`: 0, `given("some")`: 1,
	} {
		if got := compute(t, src, expr, 1, input{"x", x}).Data[0]; got != want {
			t.Errorf("%s is %v, not %v", expr, got, want)
		}
	}
}
