package lower

import (
	"ptc/backend/elementwise"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// elementwise is o of its operands, which get the same number of lanes.
func (l *lowering) elementwise(o *tile.Op) *kernel.Value {
	lanes := 1
	x := make([]*kernel.Value, len(o.Args))
	for i, a := range o.Args {
		x[i] = l.value(a)
		lanes = max(lanes, x[i].Type.Lanes)
	}
	for i := range x {
		x[i] = l.b.Splat(x[i], lanes)
	}
	return elementwise.Compute(l.b, o, x)
}
