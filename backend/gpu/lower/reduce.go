package lower

import (
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/op"
)

var reductions = []tile.Kind{op.ReduceSum, op.ReduceMax}

// reduce folds the elements of a tile along some dimensions: first those of a thread, then lanes
// with each other, then warps through shared memory. All threads have the result.
func (l *lowering) reduce(o *tile.Op) {
	v := o.Args[0]
	dims, kept := v.Type.Dims, o.Result().Type.Dims
	at := l.folded(o)
	x := l.value(v, at)
	e := kindOf(v.Type.DType)
	none := l.b.Const(e, identity(o.Kind, v.Type.DType))
	if in := l.exists(at, dims); in != nil {
		all := make([]*thread.Value, len(x))
		for r := range x {
			all[r] = l.b.Select(in(r), x[r], none)
		}
		x = all
	}
	keep := make([]bool, len(dims))
	for i, d := range dims {
		for _, k := range kept {
			keep[i] = keep[i] || k == d
		}
	}
	out := over(at, dims, kept)
	pick := at.Registers(keep)
	// Neighbours first, so that sums are of numbers of the same size.
	parts := make([][]*thread.Value, out.Regs())
	for r := range x {
		parts[pick(r)] = append(parts[pick(r)], x[r])
	}
	sums := make([]*thread.Value, out.Regs())
	for i, p := range parts {
		for len(p) > 1 {
			for j := 0; j+1 < len(p); j += 2 {
				p[j/2] = l.fold(o.Kind, p[j], p[j+1])
			}
			p = p[:len(p)/2]
		}
		sums[i] = p[0]
	}
	lanes, warps := reducedBits(at.Lane, keep), reducedBits(at.Warp, keep)
	for bit := range layout.LaneBits {
		if lanes>>bit&1 == 0 {
			continue
		}
		for i := range sums {
			sums[i] = l.fold(o.Kind, sums[i], l.b.Exchange(l.word(sums[i]), 1<<bit))
		}
	}
	if warps != 0 {
		sums = l.acrossWarps(o.Kind, sums, out, warps)
	}
	l.hold(o.Result(), out, sums)
}

// folded is the layout in which a reduction reads its operand: the one that it is in, or else one whose neighbours are
// neighbours in memory. A sum of rows has rows last, which are far from each other.
//
//	load x[batch, embed] as [embed, batch]    lanes along embed, batch in registers
func (l *lowering) folded(o *tile.Op) *layout.Layout {
	v := o.Args[0]
	dims := v.Type.Dims
	fast := slices.Index(dims, contiguous(v))
	if l.fixed(v) != nil || l.along == nil || fast < 0 || slices.Contains(o.Over, dims[fast]) {
		return l.own(v)
	}
	sizes := l.sizes(dims)
	var last []layout.Basis
	for d, r := range dims {
		for bit := 1; slices.Contains(o.Over, r) && bit < sizes[d]; bit *= 2 {
			b := make(layout.Basis, len(dims))
			b[d] = bit
			last = append(last, b)
		}
	}
	return layout.BlockedBut(sizes, fast, vector, l.warps, last)
}

// contiguous is the range along which the first load that v is made of, element by element, reads one element behind
// the other; nil if there is none.
func contiguous(v *tile.Value) *tile.Range {
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
			if r := contiguous(x); r != nil {
				return r
			}
		}
	}
	return nil
}

// own is the layout that v is in, or in which it is computed without moving a tile of its size: that of
// what it is made of element by element. Else it is the natural one.
func (l *lowering) own(v *tile.Value) *layout.Layout {
	if at := l.fixed(v); at != nil {
		return at
	}
	return l.natural(v.Type.Dims)
}

// fixed is own without the natural one: nil if nothing says in which layout v is.
func (l *lowering) fixed(v *tile.Value) *layout.Layout {
	var of func(x *tile.Value) *layout.Layout
	of = func(x *tile.Value) *layout.Layout {
		if l.held[x] != nil || x.Def == nil || !elementwise.Known(x.Def.Kind) {
			return l.held[x]
		}
		for _, a := range x.Def.Args {
			if slices.Equal(a.Type.Dims, v.Type.Dims) {
				if at := of(a); at != nil {
					return at
				}
			}
		}
		return nil
	}
	return of(v)
}

// word is v in 32 bits, which lanes exchange.
func (l *lowering) word(v *thread.Value) *thread.Value {
	if v.Type.Elem == kernel.I64 || v.Type.Elem == kernel.F64 || v.Type.Elem == kernel.I1 {
		l.fail("found a reduction of %s; it has no code for GPUs", v.Type)
	}
	return v
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

// acrossWarps folds what warps have that differ in the bits of mask. Each writes its part, and
// all read all of them, in the same order.
func (l *lowering) acrossWarps(kind tile.Kind, sums []*thread.Value, at *layout.Layout, mask int) []*thread.Value {
	each := 32 * len(sums) // of a warp; a lane reads what it wrote in its place
	e := sums[0].Type.Elem
	out := make([]*thread.Value, len(sums))
	l.b.Overlay(func() { // so that a kernel of many reductions takes what one does
		mem := l.b.NewShared(e, l.warps*each, 16)
		lane := l.b.Special(thread.Lane)
		l.b.Sync() // what was there before has been read
		to := l.b.Within(mem, l.b.Add(l.b.Mul(l.warp(), l.i32(int64(each))), lane))
		for i, x := range sums {
			l.b.StoreShared(to.Plus(int64(32*i)), thread.Access{}, []*thread.Value{x})
		}
		l.b.Sync()
		same := l.b.And(l.warp(), l.i32(int64((l.warps-1)&^mask)))
		from := l.b.Within(mem, l.b.Add(l.b.Mul(same, l.i32(int64(each))), lane))
		for i := range sums {
			for w := range l.warps {
				if w&^mask != 0 {
					continue
				}
				x := l.b.LoadShared(from.Plus(int64(w*each+32*i)), thread.Access{N: 1})[0]
				if out[i] == nil {
					out[i] = x
				} else {
					out[i] = l.fold(kind, out[i], x)
				}
			}
		}
	})
	return out
}

func (l *lowering) fold(kind tile.Kind, x, y *thread.Value) *thread.Value {
	if kind == op.ReduceMax {
		return l.b.Max(x, y)
	}
	return l.b.Add(x, y)
}

// identity is what a reduction of nothing is.
func identity(kind tile.Kind, d ir.DType) float64 {
	if kind != op.ReduceMax {
		return 0
	}
	if d.IsFloat() {
		return negativeInfinity
	}
	lo, _ := d.Bounds()
	return lo
}
