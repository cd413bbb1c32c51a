package ir_test

import (
	"testing"

	"ptc/ir"
)

// TestReductionsAreASet: types that are partial over the same mesh axes are equal and
// print alike, in whichever order a pass derived the reductions.
func TestReductionsAreASet(t *testing.T) {
	sum, most := ir.Partial{Mesh: "tp", Reduce: "sum"}, ir.Partial{Mesh: "dp", Reduce: "max"}
	a := ir.Type{DType: ir.F32, Partial: []ir.Partial{sum, most}}
	b := ir.Type{DType: ir.F32, Partial: []ir.Partial{most, sum}}
	if !a.Equal(b) || a.String() != b.String() {
		t.Errorf("%s is not %s", a, b)
	}
	if want := "f32[] partial(max dp, tp)"; a.String() != want {
		t.Errorf("%s, want %s", a, want)
	}
	if a.Partial[0] != sum {
		t.Error("printing a type changed it")
	}
	other := ir.Type{DType: ir.F32, Partial: []ir.Partial{sum, {Mesh: "dp", Reduce: "sum"}}}
	if a.Equal(other) || a.String() == other.String() {
		t.Errorf("%s is %s", a, other)
	}
}
