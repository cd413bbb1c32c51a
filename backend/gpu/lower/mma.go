package lower

import (
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
)

// fragments says where in operand i of a product the rows of 16 bytes are that the lanes of a warp
// give to ldmatrix: of four matrices of 8 × 8 numbers those of 16 rows and 16 steps of the left
// operand, of the right one those of two times 8 columns. Matrices whose rows go along the free axis
// are transposed as they are read ("PTX ISA", 9.7.14.5.15).
func (x product) fragments(i int, p placed) *layout.Layout {
	free, k := x.axes(i, p)
	along := func(d, n int) layout.Basis {
		b := layout.Basis{0, 0}
		b[d] = n
		return b
	}
	row := k // of a matrix
	if !x.transposed(i, p) {
		row = free
	}
	out := &layout.Layout{Sizes: p.in.Sizes, Lane: []layout.Basis{along(row, 1), along(row, 2), along(row, 4)}}
	switch second := along(free, 8); {
	case i == 0:
		out.Lane = append(out.Lane, second, along(k, 8))
	case x.pairs():
		out.Lane = append(out.Lane, along(k, 8), second)
	default:
		out.Lane = append(out.Lane, along(k, 8), along(free, 0))
	}
	for _, w := range x.at.Warp {
		out.Warp = append(out.Warp, project(w, x.dims, p.dims))
	}
	return out
}

// axes are the dimensions of operand i: that of the sums, and that which is summed.
func (x product) axes(i int, p placed) (free, k int) {
	if p.dims[0] == x.over[0] {
		return 1, 0
	}
	return 0, 1
}

// transposed reports whether operand i is contiguous along the axis that is not summed.
func (x product) transposed(i int, p placed) bool {
	free, _ := x.axes(i, p)
	return p.in.Bits[free][0] == 1
}

// pairs reports whether a warp has 16 columns next to each other.
func (x product) pairs() bool {
	return slices.ContainsFunc(x.at.Reg, func(b layout.Basis) bool { return b[x.free[1]] == 8 })
}

// multiplyMatrices adds products by matrix instructions: of 16 steps of the contracted range after
// the other, a warp reads its columns, and then its rows, 16 at a time.
func (l *lowering) multiplyMatrices(x product, left, right placed, acc []*thread.Value) []*thread.Value {
	e := elementwise.Elem(x.o.Args[0].Type.DType)
	type operand struct {
		i        int
		p        placed
		from     *reach
		free, k  int
		offsets  []int // of the thread's pieces along the free axis
		matrices int
	}
	open := func(i int, p placed, matrices int) *operand {
		o := &operand{i: i, p: p, from: l.reach(p, p.dims, x.fragments(i, p)), matrices: matrices}
		o.free, o.k = x.axes(i, p)
		for r := 0; r < x.at.Regs(); r += 4 {
			n := x.at.Offset(r, x.free[i])
			if i == 1 && matrices == 4 {
				n &^= 8
			}
			if !slices.Contains(o.offsets, n) {
				o.offsets = append(o.offsets, n)
			}
		}
		return o
	}
	read := func(o *operand, n, k int) []*thread.Value {
		at := make([]int, 2)
		at[o.free], at[o.k] = n, k
		return l.b.LoadMatrix(o.from.at(o.p.in.Of(at)), o.matrices, x.transposed(o.i, o.p))
	}
	columns := 2
	if x.pairs() {
		columns = 4
	}
	rows, cols := open(0, left, 4), open(1, right, columns)
	acc = slices.Clone(acc)
	for k := 0; int64(k) < x.over[0].Size; k += 16 {
		b := map[int][]*thread.Value{}
		for _, n := range cols.offsets {
			y := read(cols, n, k)
			for j := 0; j < len(y); j += 2 {
				b[n|4*j] = y[j : j+2]
			}
		}
		for _, m := range rows.offsets {
			a := read(rows, m, k)
			for r := 0; r < x.at.Regs(); r += 4 {
				if x.at.Offset(r, x.free[0]) == m {
					copy(acc[r:r+4], l.b.Multiply(e, a, b[x.at.Offset(r, x.free[1])], acc[r:r+4]))
				}
			}
		}
	}
	return acc
}
