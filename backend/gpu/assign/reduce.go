package assign

import (
	"fmt"
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/kernel"
	"ptc/backend/tile"
	"ptc/ir/op"
)

// Reduction is how a tile is folded along some of its dimensions: first the elements of a thread, then lanes
// with each other, then warps through shared memory.
type Reduction struct {
	In, Out      *layout.Layout
	Pick         func(r int) int // the register of the result that a register of the operand goes to
	Lanes, Warps int             // bits of the numbers of lanes and warps along which it is folded
}

// reduction decides how o is folded.
func (c *chosen) reduction(o *tile.Op) (*Reduction, error) {
	dims, left := o.Args[0].Type.Dims, o.Result().Type.Dims
	keep := kept(dims, left)
	x := &Reduction{In: c.folded(o)}
	x.Out, x.Pick = Over(x.In, dims, left), x.In.Registers(keep)
	x.Lanes, x.Warps = reducedBits(x.In.Lane, keep), reducedBits(x.In.Warp, keep)
	switch e := elementwise.Register(o.Args[0].Type.DType, 1); {
	case x.Lanes == 0:
	case e.Elem == kernel.I64, e.Elem == kernel.F64, e.Elem == kernel.I1: // lanes exchange 32 bits
		return nil, fmt.Errorf("found a reduction of %s; it has no code for GPUs", e)
	}
	return x, nil
}

// reducedBits are the bits of a number that move along dimensions that are not kept.
func reducedBits(bases []layout.Basis, keep []bool) int {
	n := 0
	for i, b := range bases {
		for d, k := range keep {
			if !k && b[d] != 0 {
				n |= 1 << i
			}
		}
	}
	return n
}

// folded is the layout in which a reduction reads its operand: the one that it is in, or else one whose neighbours are
// neighbours in memory. A sum of rows has rows last, which are far from each other.
//
//	load x[batch, embed] as [embed, batch]    lanes along embed, batch in registers
func (c *chosen) folded(o *tile.Op) *layout.Layout {
	v := o.Args[0]
	dims := v.Type.Dims
	fast := slices.Index(dims, loadedAlong(v))
	if c.fixed(v) != nil || c.along == nil || fast < 0 || slices.Contains(o.Over, dims[fast]) {
		return c.settled(v)
	}
	sizes := c.Sizes(dims)
	var last []layout.Basis
	for d, r := range dims {
		for bit := 1; slices.Contains(o.Over, r) && bit < sizes[d]; bit *= 2 {
			b := make(layout.Basis, len(dims))
			b[d] = bit
			last = append(last, b)
		}
	}
	return layout.BlockedBut(sizes, fast, vector, c.Threads, last)
}

// loadedAlong is the range along which the first load that v is made of, element by element, reads one element behind
// the other; nil if there is none.
func loadedAlong(v *tile.Value) *tile.Range {
	if v.Def == nil {
		return nil
	}
	if v.Def.Kind == tile.Load {
		for i, a := range v.Def.View.Axes {
			if at := v.Def.At[i]; a.Stride == 1 && len(at.Terms) == 1 && at.Terms[0].Coef == 1 && at.Terms[0].Range != nil {
				return at.Terms[0].Range
			}
		}
		return nil
	}
	for _, x := range v.Def.Args {
		if slices.Equal(x.Type.Dims, v.Type.Dims) && (elementwise.Known(v.Def.Kind) || v.Def.Kind == op.Cast) {
			if r := loadedAlong(x); r != nil {
				return r
			}
		}
	}
	return nil
}
