package assign

import (
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/layout"
	"ptc/backend/kernel"
	"ptc/backend/tile"
	"ptc/ir"
)

// Map says how tiles of an argument are copied as those of a tensor. A kernel has its maps as arguments behind
// those of its buffers. Dimension 0 is the contiguous one.
type Map struct {
	Arg     int
	Offset  int64 // bytes, from the beginning of the argument
	DType   ir.DType
	Sizes   []int64 // elements
	Strides []int64 // bytes from one to the next, from dimension 1 on
	Box     []int64 // elements of a tile
	Swizzle int     // bytes of a row of the tile, whose pieces of 16 are exchanged
}

func (m *Map) equal(o *Map) bool {
	return m.Arg == o.Arg && m.Offset == o.Offset && m.DType == o.DType && m.Swizzle == o.Swizzle &&
		slices.Equal(m.Sizes, o.Sizes) && slices.Equal(m.Strides, o.Strides) && slices.Equal(m.Box, o.Box)
}

// Maps are the maps of a kernel so far; its phases and sections share them.
type Maps struct{ All []Map }

// of is the number of m.
func (x *Maps) of(m Map) int {
	i := slices.IndexFunc(x.All, func(o Map) bool { return o.equal(&m) })
	if i < 0 {
		i = len(x.All)
		x.All = append(x.All, m)
	}
	return i
}

// chosen is what has been decided so far about the tiles of a phase, and what later decisions are made by.
type chosen struct {
	*Tiles
	products *products
	own      map[*tile.Value]*layout.Layout
	args     map[*tile.Buffer][]int // of the kernel, that a buffer may be
	maps     *Maps
}

// Product is how the dot o is made.
func (c *chosen) Product(o *tile.Op) *Product { return c.products.of(o) }

// Elem is the element that v has in shared memory, as an operand of products.
func (c *chosen) Elem(v *tile.Value) kernel.Elem { return c.products.Elem(v) }

// Own is the layout that v is in; nil where it takes that of its reader.
func (c *chosen) Own(v *tile.Value) *layout.Layout { return c.own[v] }

// hold says that values are in layouts of their own.
func (c *chosen) hold(vs []*tile.Value, at []*layout.Layout) {
	for i, v := range vs {
		c.own[v] = at[i]
	}
}

// layouts are those in which values are carried: that which they have, or the natural one.
func (c *chosen) layouts(vs []*tile.Value) []*layout.Layout {
	out := make([]*layout.Layout, len(vs))
	for i, v := range vs {
		if out[i] = c.own[v]; out[i] == nil {
			out[i] = c.Natural(v.Type.Dims)
		}
	}
	return out
}

// settled is the layout that v is in, or in which it is computed without moving a tile of its size: that of
// what it is made of element by element. Else it is the natural one.
func (c *chosen) settled(v *tile.Value) *layout.Layout {
	if at := c.fixed(v); at != nil {
		return at
	}
	return c.Natural(v.Type.Dims)
}

// fixed is settled without the natural one: nil if nothing says in which layout v is.
func (c *chosen) fixed(v *tile.Value) *layout.Layout {
	var of func(x *tile.Value) *layout.Layout
	of = func(x *tile.Value) *layout.Layout {
		if c.own[x] != nil || x.Def == nil || !elementwise.Known(x.Def.Kind) {
			return c.own[x]
		}
		for _, arg := range x.Def.Args {
			if slices.Equal(arg.Type.Dims, v.Type.Dims) {
				if at := of(arg); at != nil {
					return at
				}
			}
		}
		return nil
	}
	return of(v)
}

// turners is the layout in which v is put into memory where it is transposed: a thread has four neighbours along the
// axis that is contiguous where it reads, and four along that which is where it writes, in one word each.
func (t *Tiles) turners(v *tile.Value) *layout.Layout {
	from := contiguous(v)
	to := make([]layout.Basis, 2)
	for i := range to {
		to[i] = make(layout.Basis, len(v.Type.Dims))
		to[i][1-from] = 1 << i
	}
	return layout.BlockedBut(t.Sizes(v.Type.Dims), from, 4, t.Threads, to)
}

// Writers is the layout in which v is put into shared memory: its own, or neighbours of 16 bytes by a thread.
func (c *chosen) Writers(v *tile.Value, in *layout.Memory) *layout.Layout {
	if turned(v, in) {
		return c.turners(v)
	}
	if at := c.own[v]; at != nil {
		return at
	}
	return layout.Blocked(c.Sizes(v.Type.Dims), contiguous(v), Vec(elementwise.Elem(v.Type.DType)), c.Threads)
}

// dot notes where the sums of x are, and whether its left operand may stay in registers: it is computed of what threads
// have as the instruction of warpgroups takes it.
func (c *chosen) dot(x *Product) error {
	if err := x.check(); err != nil {
		return err
	}
	c.own[x.Op.Result()] = x.At
	if !x.Group || x.fp8() {
		return nil
	}
	v, warps := x.Op.Args[0], c.Threads.Warps
	m, over := c.Size(x.Dims[x.Free[0]]), c.Size(x.Over[0])
	if v.Type.Dims[1] != x.Over[0] || m < warps/GroupWarps*GroupRows {
		return nil
	}
	if at := layout.Groups(m, over, warps); c.settled(v).Equal(at) {
		x.Weights = at
	}
	return nil
}
