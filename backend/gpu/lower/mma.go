package lower

import (
	"slices"

	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
)

// matrices multiplies by matrix instructions of a warp.
type matrices struct {
	code
	x     *assign.Product
	elems [2]kernel.Elem
}

// multiply adds products: of some steps of the contracted range after
// the other, a warp reads its columns, and then its rows, 16 at a time.
func (m matrices) multiply(left, right placed, acc []*thread.Value) []*thread.Value {
	rows, cols := m.fragment(0, left), m.fragment(1, right)
	acc = slices.Clone(acc)
	at, free := m.x.At, m.x.Free
	for k := 0; int64(k) < m.x.Over[0].Size; k += m.x.Steps {
		b := map[int][]*thread.Value{} // by offset of 8 columns
		for _, n := range cols.offsets {
			for j, y := 0, cols.read(n, k); j < len(y); j += 2 {
				b[n|4*j] = y[j : j+2]
			}
		}
		for _, row := range rows.offsets {
			a := rows.read(row, k)
			for r := 0; r < at.Regs(); r += 4 {
				if at.Offset(r, free[0]) == row {
					copy(acc[r:r+4], m.Multiply(m.elems[0], m.elems[1], a, b[at.Offset(r, free[1])], acc[r:r+4]))
				}
			}
		}
	}
	return acc
}

// fragment reads an operand of a product.
type fragment struct {
	p        placed
	from     *reach
	free, k  int
	offsets  []int // of the thread's pieces along the free axis
	matrices int   // that are read at once
	single   bool  // of f32
	trans    bool  // matrices are transposed as they are read
}

// fragment is operand i, which is in p.
func (m matrices) fragment(i int, p placed) *fragment {
	f := &fragment{p: p, from: m.reach(p, p.dims, m.x.Fragments(i, p.in)), matrices: 4, single: m.x.Single(), trans: m.x.Transposed(i, p.in)}
	f.free, f.k = m.x.Axes(i)
	columns := 8 // of the right operand that are read at once
	if m.x.Pairs() {
		columns = 16
	}
	if i == 1 {
		f.matrices = columns / 4
	}
	for r := 0; r < m.x.At.Regs(); r += 4 {
		n := m.x.At.Offset(r, m.x.Free[i])
		if i == 1 && n%columns != 0 {
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
	if !f.single {
		return f.from.LoadMatrix(f.from.at(a), f.matrices, f.trans)
	}
	var out []*thread.Value
	if f.trans {
		for r := range f.matrices {
			out = append(out, f.from.LoadShared(f.from.at(a^f.from.number(r)), thread.Access{N: 1})...)
		}
	} else {
		out = f.from.LoadMatrix(f.from.at(a), f.matrices, false)
	}
	for r, v := range out {
		out[r] = f.from.Tensor32(v)
	}
	return out
}
