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
	pairs           // kernel.OpDotBF16: see multiplyAdd
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
func (p *blocking) step() int64 { return [...]int64{1, 2, 4, 2}[p.by] }

// deep is how many steps of K an instruction takes.
func (p *blocking) deep() int64 { return [...]int64{1, 2, 4, 32}[p.by] }

// gain is about how many products an instruction makes in the time of one multiply-add
// of a vector's lane. Packing weighs as much more beside it.
func (p *blocking) gain() float64 { return [...]float64{1, 2, 4, 16}[p.by] }

// words is what the steps that are packed together take of a row or column.
func (p *blocking) words() int64 { return max(1, p.step()/2) }

// leftStep and rightStep are how many words of a packed tile and of a packed panel a
// step takes. Of a tile with an odd number of rows, steps that are packed together have
// a row more.
func (p *blocking) leftStep() int64  { return ceil(p.mr, min(2, p.step())) }
func (p *blocking) rightStep() int64 { return ceil(p.nr, min(2, p.step())) }

// packed is what is packed of step k of operand o, whose other indices are at: its
// elements, or the words of these and those of the next steps.
func (g *gen) packed(o Operand, at At, k kernel.Index, along Along, lanes int, mask *kernel.Value) *kernel.Value {
	at.K = g.at.K.Add(k)
	steps := []*kernel.Value{o.Load(at, along, lanes, mask)}
	for i := int64(1); i < g.step(); i++ {
		next := at
		next.K = at.K.Plus(i)
		if g.K%g.step() == 0 || g.whole {
			steps = append(steps, o.Load(next, along, lanes, mask))
			continue
		}
		behind := g.atLeast(next.K, g.K)
		next.K = g.least(next.K, g.K-1)
		x := o.Load(next, along, lanes, mask)
		steps = append(steps, g.b.Select(behind, g.b.Like(x, 0), x))
	}
	return g.together(steps, 0)
}

// together is what is packed of steps i and on, of which steps has one vector each;
// behind the last one that exists they are zero.
func (g *gen) together(steps []*kernel.Value, i int64) *kernel.Value {
	switch g.step() {
	case 1:
		return steps[i]
	case 2:
		if g.by == tiles {
			return g.b.ZipBF16(steps[i], steps[i+1])
		}
		return g.b.PairBF16(steps[i], steps[i+1])
	}
	first, second := g.b.PairBF16(steps[i], steps[i+1]), g.b.PairBF16(steps[i+2], steps[i+3])
	var lanes []int
	for l := range first.Type.Lanes {
		lanes = append(lanes, l, first.Type.Lanes+l)
	}
	return g.b.Shuffle(first, second, lanes...)
}

// clear makes a vector of elements zero, or as many words as are packed of one.
func (g *gen) clear(to kernel.Ref) {
	lanes := g.width
	if to.Buf.Elem == kernel.I32 {
		lanes *= int(g.words())
	}
	g.b.Store(to, g.b.Const(kernel.Vec(to.Buf.Elem, lanes), 0))
}

// multiplyAdd adds the products of a step, or of a pair, to sum.
func (g *gen) multiplyAdd(sum, left, right *kernel.Value) *kernel.Value {
	if g.by == pairs {
		return g.b.DotBF16(sum, left, right)
	}
	return g.b.MulAdd(left, right, sum)
}
