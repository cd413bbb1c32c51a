package lower

import (
	"slices"

	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
)

// matrices multiplies by matrix instructions of a warp.
type matrices struct {
	code
	x *assign.Product
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
					copy(acc[r:r+4], m.Multiply(m.x.Elems[0], m.x.Elems[1], a, b[at.Offset(r, free[1])], acc[r:r+4]))
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

// unrolled is how many multiply-adds of a thread are one behind the other at most, before there is a
// loop. Where an operand is contiguous along the axis that is summed, four of its positions take
// registers at once: an assembler that sees more of them reads ahead until it has none left.
const (
	unrolled      = 1024
	unrolledAlong = 256
)

// additions multiplies by multiply-adds of threads on their own.
type additions struct {
	code
	sizes       *assign.Tiles
	left, right placed
}

// multiply adds the products at all positions of the contracted ranges, of which operands are zero
// beyond the end.
func (x additions) multiply(over []*tile.Range, a, b *reach, acc []*thread.Value) []*thread.Value {
	if len(over) == 0 {
		return x.step(a, b, nil, nil, acc)
	}
	r, last := over[0], len(over) == 1
	p, q := x.left.bits(r), x.right.bits(r)
	unit, most := 1, unrolled
	if len(p) > 0 && (p[0] == 1 || q[0] == 1) {
		most = unrolledAlong
	}
	if last {
		for unit < x.sizes.Size(r) && (2*unit*len(acc) <= most || unit < 4) {
			unit *= 2
		}
	}
	inner := func(a, b *reach) []*thread.Value {
		if !last {
			return x.multiply(over[1:], a, b, acc)
		}
		n := 0
		for 1<<n < unit {
			n++
		}
		return x.step(a, b, p[:n], q[:n], acc)
	}
	if unit >= x.sizes.Size(r) && last {
		return inner(a, b)
	}
	skip := 0
	for 1<<skip < unit {
		skip++
	}
	iterations := (r.Size + int64(unit) - 1) / int64(unit)
	return x.Loop(x.i32(0), x.i32(iterations), 1, acc, func(i *thread.Value, carry []*thread.Value) []*thread.Value {
		acc = carry
		return inner(a.moved(i, p[skip:]), b.moved(i, q[skip:]))
	})
}

// step multiplies at 2ⁿ positions of a contracted range, p and q being what the n bits of them
// bring in the operands. Where an operand is contiguous along it, four of its positions are
// one access; a row is read, and multiplied by all columns of the thread, before the next.
func (x additions) step(a, b *reach, p, q []int, acc []*thread.Value) []*thread.Value {
	group := 0 // bits of the positions that are read at once
	if len(p) > 0 && (p[0] == 1 || q[0] == 1) {
		group = min(2, len(p))
	}
	order := make([]int, len(acc))
	for r := range order {
		order[r] = r
	}
	slices.SortStableFunc(order, func(r, s int) int { return a.number(r) - a.number(s) })
	acc = slices.Clone(acc)
	for first := 0; first < 1<<len(p); first += 1 << group {
		u, v := a.reader(slices.Concat(a.regs, p[:group])), b.reader(slices.Concat(b.regs, q[:group]))
		for from := 0; from < len(order); {
			to := from
			for to < len(order) && a.number(order[to]) == a.number(order[from]) {
				to++
			}
			for k := first; k < first+1<<group; k++ {
				for _, r := range order[from:to] {
					acc[r] = x.FMA(u.get(a.number(r)^sum(p, k)), v.get(b.number(r)^sum(q, k)), acc[r])
				}
			}
			from = to
		}
	}
	return acc
}

// sum is the exclusive or of those of the bases whose bit is set in n.
func sum(bases []int, n int) int {
	a := 0
	for i, b := range bases {
		if n>>i&1 != 0 {
			a ^= b
		}
	}
	return a
}
