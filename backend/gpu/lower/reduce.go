package lower

import (
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
	"ptc/ir/op"
)

func init() { effects[op.ReduceSum], effects[op.ReduceMax] = (*task).reduce, (*task).reduce }

// reduce folds the elements of a tile along some dimensions: first those of a thread, then lanes
// with each other, then warps through shared memory. All threads have the result.
func (t *task) reduce(o *tile.Op) {
	how := t.phase.Reductions[o]
	x := t.complete(o.Args[0], how.In, assign.Identity(o.Kind, o.Args[0].Type.DType))
	// Neighbours first, so that sums are of numbers of the same size.
	parts := make([][]*thread.Value, how.Out.Regs())
	for r := range x {
		parts[how.Pick(r)] = append(parts[how.Pick(r)], x[r])
	}
	sums := make([]*thread.Value, how.Out.Regs())
	for i, p := range parts {
		for len(p) > 1 {
			for j := 0; j+1 < len(p); j += 2 {
				p[j/2] = t.fold(o.Kind, p[j], p[j+1])
			}
			p = p[:len(p)/2]
		}
		sums[i] = p[0]
	}
	for bit := 1; bit <= how.Lanes; bit *= 2 {
		if how.Lanes&bit == 0 {
			continue
		}
		for i := range sums {
			sums[i] = t.fold(o.Kind, sums[i], t.Exchange(sums[i], int64(bit)))
		}
	}
	if how.Warps != 0 {
		sums = t.acrossWarps(o.Kind, sums, t.phase.Threads, how.Warps)
	}
	t.know(o.Result(), how.Out, sums)
}

// acrossWarps folds what warps have that differ in the bits of mask. Each writes its part, and
// all read all of them, in the same order.
func (c code) acrossWarps(kind tile.Kind, sums []*thread.Value, block layout.Threads, mask int) []*thread.Value {
	lanes, warps := block.Lanes, block.Warps
	each := lanes * len(sums) // of a warp; a lane reads what it wrote in its place
	e := sums[0].Type.Elem
	out := make([]*thread.Value, len(sums))
	c.Overlay(func() { // so that a kernel of many reductions takes what one does
		mem := c.NewShared(e, warps*each, 16)
		lane := c.Special(thread.Lane)
		c.Sync() // what was there before has been read
		to := c.Within(mem, c.Add(c.Mul(c.Special(thread.Warp), c.i32(int64(each))), lane))
		for i, x := range sums {
			c.StoreShared(to.Plus(int64(lanes*i)), thread.Access{}, []*thread.Value{x})
		}
		c.Sync()
		same := c.And(c.Special(thread.Warp), c.i32(int64((warps-1)&^mask)))
		from := c.Within(mem, c.Add(c.Mul(same, c.i32(int64(each))), lane))
		for i := range sums {
			for w := range warps {
				if w&^mask != 0 {
					continue
				}
				x := c.LoadShared(from.Plus(int64(w*each+lanes*i)), thread.Access{N: 1})[0]
				if out[i] == nil {
					out[i] = x
				} else {
					out[i] = c.fold(kind, out[i], x)
				}
			}
		}
	})
	return out
}

func (c code) fold(kind tile.Kind, x, y *thread.Value) *thread.Value {
	if kind == op.ReduceMax {
		return c.Max(x, y)
	}
	return c.Add(x, y)
}
