package op

import "ptc/ir"

// DividesRows reports whether o can be done apart for each of parts that its factor f is
// cut into, of consecutive rows, where it needs not know which rows these are of the whole,
// unless it is a source.
func DividesRows(o *ir.Op, f *Factor, parts int) bool {
	if f.Kind != PassThrough && f.Kind != Reduce || f.Size%parts != 0 {
		return false
	}
	if Of(o).Class == Source { // of a window there are no parts
		return !o.Attrs.Has(ir.AttrFirst) && !o.Attrs.Has(ir.AttrMoves)
	}
	return !Placed(o, f)
}

// RowFactor is the factor of o along which its operands are rows of a batch that is cut
// into parts: one of which axisOf says that an operand is cut along its axis already, and
// carried is true, or else the last one that has an axis of the batch, by name; nil where
// there is neither.
func RowFactor(o *ir.Op, rule Rule, parts int, axisOf func(*ir.Value) string, batch map[string]bool) (f *Factor, carried bool) {
	for i := range rule.Factors {
		x := &rule.Factors[i]
		if !DividesRows(o, x, parts) {
			continue
		}
		for j, axis := range x.Args {
			if axis != "" && axisOf(o.Args[j]) == axis {
				return x, true
			}
			if batch[axis] {
				f = x
			}
		}
		for _, axis := range x.Results {
			if batch[axis] {
				f = x
			}
		}
	}
	return f, false
}
