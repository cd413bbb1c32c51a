package gemm

import "ptc/backend/kernel"

// by is the instruction that multiplies. Those of bf16 take several steps of K at once,
// so that these are packed together, in words of two bf16 of which the lower half is
// the first step:
//
//	multiplyAdds   left [tile][k][row]              right [panel][k][column]              f32
//	pairs          left [tile][k/2][row]            right [panel][k/2][column]            words
//	matrices       left [tile][k/4][row][2]         right [panel][k/4][column][2]         words
//	tiles          left [tile][k/32][row][16]       right as pairs                        words
//
// Loops over steps go by as many, and k is a multiple of that in them. Behind the last
// step there are steps of zeros. Sums are in the order of [kernel.OpDotBF16],
// [kernel.OpMatBF16] and [kernel.Tiles].
type by uint8

const (
	multiplyAdds by = iota
	pairs           // kernel.OpDotBF16: see product.multiplyAdd
	matrices        // kernel.OpMatBF16: see matrices.go
	tiles           // kernel.OpTileDot: see tiles.go
)

// instruction is the one of most products that s and m have in common.
func instruction(s *Spec, m kernel.Machine) by {
	switch {
	case !s.Left.BF16 || !s.Right.BF16:
		return multiplyAdds
	case m.TileBF16 && m.Masked && m.Lanes(kernel.F32) == kernel.TileRows:
		return tiles
	case m.MatBF16 && m.Lanes(kernel.F32) == quad:
		return matrices
	case m.DotBF16 && m.Masked:
		return pairs
	}
	return multiplyAdds
}

// step is how many steps of K are packed together as vectors along rows or columns.
func (b by) step() int64 { return [...]int64{1, 2, 4, 2}[b] }

// deep is how many steps of K an instruction takes.
func (b by) deep() int64 { return [...]int64{1, 2, 4, 32}[b] }

// gain is about how many products an instruction makes in the time of one multiply-add
// of a vector's lane. Packing costs as many times more in comparison.
func (b by) gain() float64 { return [...]float64{1, 2, 4, 16}[b] }

// words is what the steps that are packed together take of a row or column.
func (b by) words() int64 { return max(1, b.step()/2) }
