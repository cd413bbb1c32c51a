package gemm

import "ptc/backend/kernel"

// A vector of sums of kernel.OpMatBF16 has two rows and two columns. A register tile of
// rows × vecs vectors has them for each pair of rows and each pair of columns, as many
// as there would be for rows alone:
//
//	             column 0 1   2 3   4 5  …        a vector of four columns of a pair of
//	row 0 1     [ 0 1 / 0 1 ][ … ][ … ]           rows is two registers of sums, and two
//	row 2 3     [     …     ][ … ][ … ]           of the right operand
//
// They are turned to rows, and back, once for each block of K.

// matrixRows and matrixVecs are the register tile where there are rows and columns
// enough: 24 sums, the right operand of two vectors and the left one of four rows are 30
// of 32 registers.
const (
	matrixRows = 8
	matrixVecs = 3
)

// matrixTile is the register tile of matrices, of so many vectors.
func matrixTile(vecs int64, m kernel.Machine) tileSizes {
	size := tileSizes{2, vecs}
	for size.rows < mostRows && matrixRegisters(tileSizes{size.rows + 2, vecs}) <= int64(m.Registers) {
		size.rows += 2
	}
	return size
}

// matrixRegisters is how many registers a tile takes at least: its sums, the left
// operand of all rows, and a pair of columns of the right one.
func matrixRegisters(size tileSizes) int64 {
	return ceil(size.rows, 2)*2*size.vecs + ceil(size.rows, 2) + 2
}

// microMatrices is [tileProduct.micro] by matrices of 2 × 4 and 4 × 2.
func (g *tileProduct) microMatrices(t, p kernel.Index, rows, vecs int64) {
	pairs, columns := ceil(rows, 2), 2*vecs
	acc := paired(g.b, g.before(t, p, rows, vecs), rows, vecs)
	at := func(r kernel.Ref, i int64) *kernel.Value {
		r.Index = r.Index.Plus(quad * i)
		return g.b.Load(r, quad)
	}
	depth := kernel.Between(kernel.Int(0), g.depthIn(g.K)).By(g.by.step()).Unrolled(g.m.Steps(pairs * columns))
	acc = g.b.ForCarry(depth, acc, func(k kernel.Index, acc []*kernel.Value) []*kernel.Value {
		left := make([]*kernel.Value, pairs)
		for r := range left {
			left[r] = at(g.left.place(t, k, kernel.Int(0)), int64(r))
		}
		next := make([]*kernel.Value, len(acc))
		for c := range columns {
			right := at(g.right.place(p, k, 0), c)
			for r := range pairs {
				i := r*columns + c
				next[i] = g.b.MatBF16(acc[i], left[r], right)
			}
		}
		return next
	})
	for i, x := range inRows(g.b, acc, rows, vecs) {
		r, v := int64(i)/vecs, int64(i)%vecs
		g.b.Store(g.sums.place(t, p, kernel.Int(r), v), x)
	}
}

// paired turns vectors of rows into those of two rows and columns. A row that the last
// pair does not have repeats the other one.
func paired(b *kernel.Builder, of []*kernel.Value, rows, vecs int64) (out []*kernel.Value) {
	for r := int64(0); r < rows; r += 2 {
		for v := range vecs {
			x, y := of[r*vecs+v], of[min(r+1, rows-1)*vecs+v]
			out = append(out, b.Shuffle(x, y, 0, 1, 4, 5), b.Shuffle(x, y, 2, 3, 6, 7))
		}
	}
	return out
}

// inRows is the inverse of paired.
func inRows(b *kernel.Builder, of []*kernel.Value, rows, vecs int64) (out []*kernel.Value) {
	for r := range rows {
		for v := range vecs {
			x, y := of[r/2*2*vecs+2*v], of[r/2*2*vecs+2*v+1]
			if r%2 == 0 {
				out = append(out, b.Shuffle(x, y, 0, 1, 4, 5))
			} else {
				out = append(out, b.Shuffle(x, y, 2, 3, 6, 7))
			}
		}
	}
	return out
}
