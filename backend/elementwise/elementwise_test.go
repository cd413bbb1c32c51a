package elementwise

import (
	"testing"

	"ptc/backend/kernel/vmath"
	"ptc/backend/tile"
	"ptc/ir/op"
)

// Every elementwise operation has a form, and no function is of an operation that does not exist.
func TestFormsAreComplete(t *testing.T) {
	for _, d := range op.All() {
		if d.Class == op.Elementwise && !Known(tile.Kind(d.Name)) {
			t.Errorf("%s has no form", d.Name)
		}
	}
	for _, f := range vmath.All() {
		if d := op.Lookup(f.Name); d == nil || d.Class != op.Elementwise || d.MaxArgs != f.Args {
			t.Errorf("%s of %d operands is the function of no operation", f.Name, f.Args)
		}
	}
}
