package lower

import (
	"testing"

	"ptc/ir/op"
)

// Every operation that computes has its native code, of the kind that its class
// asks for, and no other has.
func TestEveryOperationHasNativeCode(t *testing.T) {
	for _, d := range op.All() {
		n, ok := natives[d.Name]
		want := true
		switch d.Class {
		case op.Elementwise, op.Source:
			ok = ok && n.value != nil
		case op.Reduction:
			ok = ok && n.fold != nil
		case op.Contraction:
			ok = ok && n.root
		case op.Indexed:
			ok = ok && (n.root || n.value != nil)
		case op.Movement:
			ok = ok && (n.root || n.gone || n.value != nil) && (d.Traits&op.ByName != 0) == (n.value != nil)
		case op.Collective, op.Symbolic, op.Control, op.Placement, op.Boundary:
			want = false
		}
		if ok != want {
			t.Errorf("%s: native code is %v", d.Name, ok)
		}
	}
	for name := range natives {
		if op.Lookup(name) == nil {
			t.Errorf("%s has native code and no row", name)
		}
	}
}
