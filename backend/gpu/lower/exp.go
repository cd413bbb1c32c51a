package lower

import (
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/tile"
)

// near reports whether the exponentials of a loop are weights of an attention that multiplies numbers of 16 bits: it has
// two products at least, all of such numbers. A weight is rounded to 8 or 11 bits as an operand there, so the
// hardware's exponential will do ([thread.Builder.Near]). Exponentials of other kernels are those of processors.
func (l *lowering) near(o *tile.Op) bool {
	all := dots(o.Loop.Body)
	return len(all) >= 2 && !slices.ContainsFunc(all, func(d *tile.Op) bool {
		return slices.ContainsFunc(d.Args[:2], func(v *tile.Value) bool { return !elementwise.Elem(v.Type.DType).IsNarrow() })
	})
}
