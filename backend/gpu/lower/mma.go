package lower

import (
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
)

// fragments says where in operand i of a product the rows of 16 bytes are that the lanes of a warp
// give to ldmatrix: of four matrices of 8 rows those of 16 rows and two times as many steps of the
// left operand, of the right one those of two times 8 columns. Matrices whose rows go along the
// free axis are transposed as they are read ("PTX ISA", 9.7.14.5.15), which is for numbers of 16 bits
// only: of f32 the layout is that of the numbers which lanes read for themselves.
func (x product) fragments(i int, p placed) *layout.Layout {
	free, k := x.axes(i, p)
	along := func(d, n int) layout.Basis {
		b := layout.Basis{0, 0}
		b[d] = n
		return b
	}
	out := &layout.Layout{Sizes: p.in.Sizes}
	second := []layout.Basis{along(free, 8), along(k, x.steps/2)} // of four matrices
	if i == 1 {
		second = []layout.Basis{second[1], second[0]}
		if !x.pairs() {
			second[1] = along(free, 0)
		}
	}
	switch {
	case x.transposed(i, p) && x.single():
		out.Lane = []layout.Basis{along(k, 1), along(k, 2), along(free, 1), along(free, 2), along(free, 4)}
		out.Reg = second
		if i == 1 && !x.pairs() {
			out.Reg = second[:1]
		}
	case x.transposed(i, p):
		out.Lane = append([]layout.Basis{along(k, 1), along(k, 2), along(k, 4)}, second...)
	default:
		out.Lane = append([]layout.Basis{along(free, 1), along(free, 2), along(free, 4)}, second...)
	}
	for _, w := range x.at.Warp {
		out.Warp = append(out.Warp, project(w, x.dims, p.dims))
	}
	return out
}

// single reports whether operands are f32.
func (x product) single() bool { return !elementwise.Elem(x.o.Args[0].Type.DType).IsNarrow() }

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

// fragment reads operand i of a product.
type fragment struct {
	l       *lowering
	x       product
	i       int
	p       placed
	from    *reach
	free, k int
	offsets []int // of the thread's pieces along the free axis
	columns int   // of the right operand that are read at once
}

func (l *lowering) fragment(x product, i int, p placed) *fragment {
	f := &fragment{l: l, x: x, i: i, p: p, from: l.reach(p, p.dims, x.fragments(i, p)), columns: 8}
	f.free, f.k = x.axes(i, p)
	if x.pairs() {
		f.columns = 16
	}
	for r := 0; r < x.at.Regs(); r += 4 {
		n := x.at.Offset(r, x.free[i])
		if i == 1 && n%f.columns != 0 {
			continue
		}
		if !slices.Contains(f.offsets, n) {
			f.offsets = append(f.offsets, n)
		}
	}
	return f
}

// read is the registers of the piece at offset n, from step k on.
func (f *fragment) read(n, k int) []*thread.Value {
	at := make([]int, 2)
	at[f.free], at[f.k] = n, k
	a := f.p.in.Of(at)
	matrices := 4
	if f.i == 1 {
		matrices = f.columns / 4
	}
	trans := f.x.transposed(f.i, f.p)
	if !f.x.single() {
		return f.l.b.LoadMatrix(f.from.at(a), matrices, trans)
	}
	var out []*thread.Value
	if trans {
		for r := range matrices {
			out = append(out, f.l.b.LoadShared(f.from.at(a^f.from.number(r)), thread.Access{N: 1})...)
		}
	} else {
		out = f.l.b.LoadMatrix(f.from.at(a), matrices, false)
	}
	for r, v := range out {
		out[r] = f.l.b.Tensor32(v)
	}
	return out
}

// multiplyMatrices adds products by matrix instructions: of some steps of the contracted range after
// the other, a warp reads its columns, and then its rows, 16 at a time.
func (l *lowering) multiplyMatrices(x product, left, right placed, acc []*thread.Value) []*thread.Value {
	e, f := l.operandElem(x.o.Args[0]), l.operandElem(x.o.Args[1])
	rows, cols := l.fragment(x, 0, left), l.fragment(x, 1, right)
	acc = slices.Clone(acc)
	for k := 0; int64(k) < x.over[0].Size; k += x.steps {
		b := map[int][]*thread.Value{} // by offset of 8 columns
		for _, n := range cols.offsets {
			for j, y := 0, cols.read(n, k); j < len(y); j += 2 {
				b[n|4*j] = y[j : j+2]
			}
		}
		for _, m := range rows.offsets {
			a := rows.read(m, k)
			for r := 0; r < x.at.Regs(); r += 4 {
				if x.at.Offset(r, x.free[0]) == m {
					copy(acc[r:r+4], l.b.Multiply(e, f, a, b[x.at.Offset(r, x.free[1])], acc[r:r+4]))
				}
			}
		}
	}
	return acc
}
