package assign

import "ptc/backend/gpu/layout"

// Fragments says where in operand i of a product the rows of 16 bytes are that the lanes of a warp
// give to ldmatrix: of four matrices of 8 rows those of 16 rows and two times as many steps of the
// left operand, of the right one those of two times 8 columns. Matrices whose rows go along the
// free axis are transposed as they are read ("PTX ISA", 9.7.14.5.15), which is for numbers of 16 bits
// only: of f32 the layout is that of the numbers which lanes read for themselves.
func (x *Product) Fragments(i int, in *layout.Memory) *layout.Layout {
	free, k := x.Axes(i)
	along := func(d, n int) layout.Basis {
		b := layout.Basis{0, 0}
		b[d] = n
		return b
	}
	out := &layout.Layout{Sizes: in.Sizes}
	second := []layout.Basis{along(free, 8), along(k, x.Steps/2)} // of four matrices
	if i == 1 {
		second = []layout.Basis{second[1], second[0]}
		if !x.Pairs() {
			second[1] = along(free, 0)
		}
	}
	switch {
	case x.Transposed(i, in) && x.Single():
		out.Lane = []layout.Basis{along(k, 1), along(k, 2), along(free, 1), along(free, 2), along(free, 4)}
		out.Reg = second
		if i == 1 && !x.Pairs() {
			out.Reg = second[:1]
		}
	case x.Transposed(i, in):
		out.Lane = append([]layout.Basis{along(k, 1), along(k, 2), along(k, 4)}, second...)
	default:
		out.Lane = append([]layout.Basis{along(free, 1), along(free, 2), along(free, 4)}, second...)
	}
	for _, w := range x.At.Warp {
		out.Warp = append(out.Warp, Project(w, x.Dims, x.Op.Args[i].Type.Dims))
	}
	return out
}

// Transposed reports whether operand i is contiguous along the axis that is not summed.
func (x *Product) Transposed(i int, in *layout.Memory) bool {
	free, _ := x.Axes(i)
	return in.Bits[free][0] == 1
}
