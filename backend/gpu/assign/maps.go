package assign

import (
	"slices"

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
