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

// matrixTile is [blocking.registerTile] of matrices.
func (p *blocking) matrixTile(s *Spec, m kernel.Machine) (vecs, rows int64) {
	vecs = min(matrixVecs, ceil(s.N, p.lanes))
	for rows = 2; rows < mostRows && matrixRegisters(rows+2, vecs) <= int64(m.Registers); {
		rows += 2
	}
	return vecs, rows
}

// matrixRegisters is how many registers a tile takes at least: its sums, the left
// operand of all rows, and a pair of columns of the right one.
func matrixRegisters(rows, vecs int64) int64 {
	return ceil(rows, 2)*2*vecs + ceil(rows, 2) + 2
}

// microMatrices is [gen.micro] by matrices of 2 × 4 and 4 × 2.
func (g *gen) microMatrices(t, p kernel.Index, rows, vecs int64) {
	pairs, columns := ceil(rows, 2), 2*vecs
	acc := g.paired(g.before(t, p, rows, vecs), rows, vecs)
	at := func(r kernel.Ref, i int64) *kernel.Value {
		r.Index = r.Index.Plus(quad * i)
		return g.b.Load(r, quad)
	}
	depth := kernel.Between(kernel.Int(0), g.depthIn(g.K)).By(g.step()).Unrolled(g.m.Steps(pairs * columns))
	acc = g.b.ForCarry(depth, acc, func(k kernel.Index, acc []*kernel.Value) []*kernel.Value {
		left := make([]*kernel.Value, pairs)
		for r := range left {
			left[r] = at(g.inLeft(t, k, kernel.Int(0)), int64(r))
		}
		next := make([]*kernel.Value, len(acc))
		for c := range columns {
			right := at(g.place(p, k, 0), c)
			for r := range pairs {
				i := r*columns + c
				next[i] = g.b.MatBF16(acc[i], left[r], right)
			}
		}
		return next
	})
	for i, x := range g.inRows(acc, rows, vecs) {
		r, v := int64(i)/vecs, int64(i)%vecs
		g.b.Store(g.sum(t, p, kernel.Int(r), v), x)
	}
}

// paired turns vectors of rows into those of two rows and columns. A row that the last
// pair does not have repeats the other one.
func (g *gen) paired(of []*kernel.Value, rows, vecs int64) (out []*kernel.Value) {
	for r := int64(0); r < rows; r += 2 {
		for v := range vecs {
			x, y := of[r*vecs+v], of[min(r+1, rows-1)*vecs+v]
			out = append(out, g.b.Shuffle(x, y, 0, 1, 4, 5), g.b.Shuffle(x, y, 2, 3, 6, 7))
		}
	}
	return out
}

// inRows is the inverse of paired.
func (g *gen) inRows(of []*kernel.Value, rows, vecs int64) (out []*kernel.Value) {
	for r := range rows {
		for v := range vecs {
			x, y := of[r/2*2*vecs+2*v], of[r/2*2*vecs+2*v+1]
			if r%2 == 0 {
				out = append(out, g.b.Shuffle(x, y, 0, 1, 4, 5))
			} else {
				out = append(out, g.b.Shuffle(x, y, 2, 3, 6, 7))
			}
		}
	}
	return out
}
