package gemm

import "ptc/backend/kernel"

// tiling is how registers cover a result, every size of it static: the first stage of a
// [blocking].
//
//	           panels of nr columns
//	          ┌────────┬────────┬───┐
//	tiles of  │        │        │   │   The first wide tiles have mr rows, the
//	mr, then  ├────────┼────────┼───┤   others mr-1: nearly equal, so that at
//	mr-1 rows │        │        │   │   most two register tiles exist. The last
//	          └────────┴────────┴───┘   panel has tailVecs vectors.
type tiling struct {
	by          by
	direct      bool  // the right operand is loaded where it is used
	lanes       int64 // of a vector
	vecs, nr    int64 // vectors and columns of a panel
	panels      int64
	tailVecs    int64 // vectors of the last panel
	mr          int64 // rows of the largest tile
	tiles, wide int64 // tiles in M; how many of them have mr rows
}

// tileSizes is the size of the sums that are in registers.
type tileSizes struct{ rows, vecs int64 }

// line is the number of f32 in a cache line.
const line = 16

// fewRows is how many rows a product may have for its right operand to be loaded
// where it is used rather than packed; half as many if more than a load is done
// again for each tile.
const fewRows = 16

// uncut is a tiling of which only the instruction is chosen, and whether the right operand is packed.
func uncut(s *Spec, m kernel.Machine) tiling {
	t := tiling{lanes: int64(m.Lanes(kernel.F32)), by: instruction(s, m)}
	few := s.M <= fewRows/2 || s.M <= fewRows && s.Right.Cost == 0
	if t.direct = few && s.Right.Unit == AlongN && (m.Masked || s.N%t.lanes == 0); t.direct {
		t.by = multiplyAdds
	}
	return t
}

// newTiling covers s by the register tiles that suit m.
func newTiling(s *Spec, m kernel.Machine) tiling {
	t := uncut(s, m)
	return t.covered(s, t.registerTile(s, m))
}

// registerTile chooses the tile that lives in registers: mr·vecs accumulators,
// vecs vectors of the right operand and what else a step needs. It has the
// most rows that there is room for. Two vectors need more loads than four where both have
// the same number of sums, and fewer stores while the left operand is packed: they are
// for few columns, long vectors and few rows, and for pairs of bf16, compared with which packing
// weighs twice as much.
func (t tiling) registerTile(s *Spec, m kernel.Machine) tileSizes {
	vecs := int64(2)
	switch t.by {
	case matrices:
		return matrixTile(min(matrixVecs, ceil(s.N, t.lanes)), m)
	case tiles:
		return tileSizes{tileSize, min(tileVecs, ceil(s.N, t.lanes))}
	}
	if m.Registers >= 32 && (t.lanes <= 4 || t.by == multiplyAdds && s.M > mostRows && s.N >= 6*4*t.lanes) {
		vecs = 4
	}
	if t.direct {
		vecs = max(vecs, min(8, (int64(m.Registers)-3)/(s.M+1)))
	}
	vecs = min(vecs, ceil(s.N, t.lanes))
	spare := vecs + 2 // the right operand, one element of the left, and one more
	if !m.FMA {
		spare++ // the product
	}
	return tileSizes{min(mostRows, max(1, (int64(m.Registers)-spare)/vecs)), vecs}
}

// mostRows is how many rows a register tile has at most.
const mostRows = 16

// covered is t with the rows of s in tiles of at most size.rows, and its columns in panels
// of size.vecs vectors.
func (t tiling) covered(s *Spec, size tileSizes) tiling {
	t.vecs, t.nr = size.vecs, size.vecs*t.lanes
	t.panels = ceil(s.N, t.nr)
	t.tailVecs = ceil(s.N-(t.panels-1)*t.nr, t.lanes)
	t.tiles = ceil(s.M, size.rows)
	t.mr = ceil(s.M, t.tiles)
	if t.by == tiles { // whole registers, the last tile but for its last rows
		t.mr, t.wide = min(size.rows, ceil(s.M, kernel.TileRows)*kernel.TileRows), t.tiles
		return t
	}
	t.wide = s.M - t.tiles*(t.mr-1)
	return t
}

// registers is how many a tile takes at least: its sums, a row of vectors of the right
// operand, and an element of the left one.
func (t tiling) registers(m kernel.Machine, size tileSizes) int64 {
	if t.by == matrices {
		return matrixRegisters(size)
	}
	n := size.rows*size.vecs + size.vecs
	if !m.FMA {
		n++
	}
	return n + 1
}

// unit is what the depth of a block of K is a multiple of, where there are several.
func (t tiling) unit() int64 {
	if t.direct {
		return t.lanes
	}
	return max(t.lanes, line, t.by.deep())
}

// leftStep and rightStep are how many words of a packed tile and of a packed panel a
// step takes. Of a tile with an odd number of rows, steps that are packed together have
// a row more.
func (t tiling) leftStep() int64  { return ceil(t.mr, min(2, t.by.step())) }
func (t tiling) rightStep() int64 { return ceil(t.nr, min(2, t.by.step())) }

// narrow is the lanes of the vectors that the left operand is packed by: not many more
// than a tile has rows, as spare ones cost stores that cross lines.
func (t tiling) narrow() int64 {
	n := t.lanes
	for n%2 == 0 && n/2 >= max(t.mr, quad) {
		n /= 2
	}
	return n
}

// squares reports whether vectors are transposed in registers.
func (t tiling) squares() bool { return t.lanes >= quad && t.lanes&(t.lanes-1) == 0 }

func ceil(a, b int64) int64 { return (a + b - 1) / b }

func product(sizes []int64) int64 {
	n := int64(1)
	for _, s := range sizes {
		n *= s
	}
	return n
}
