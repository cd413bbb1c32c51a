package assign

import (
	"slices"

	"ptc/backend/gpu/layout"
	"ptc/backend/tile"
)

// vector is how many elements behind one another a thread has of a tile.
const vector = 4

// Tiles are the sizes of tiles, and the layouts that follow from these alone.
type Tiles struct {
	Threads layout.Threads
	least   map[*tile.Range]int  // of a range's size as layouts have it, where matrix instructions need more
	along   map[*tile.Range]bool // ranges that reductions are along; nil where there is a product
}

// Size is that of r as layouts have it: a power of two, and no less than a matrix instruction takes that
// multiplies along it.
func (t *Tiles) Size(r *tile.Range) int {
	n := max(1, t.least[r])
	for int64(n) < r.Size {
		n *= 2
	}
	return n
}

// Sizes are those of a tile of dims.
func (t *Tiles) Sizes(dims []*tile.Range) []int {
	out := make([]int, len(dims))
	for i, r := range dims {
		out[i] = t.Size(r)
	}
	return out
}

// Limited reports whether some of the positions that layouts have of r do not always exist, and whether the end of
// the axis cuts its last block.
func (t *Tiles) Limited(r *tile.Range) (limited, tail bool) {
	tail = r.Extent%r.Size != 0
	return tail || int64(t.Size(r)) != r.Size, tail
}

// Natural is the layout of a tile that no matrix instruction asks for another: neighbours
// along the last dimension are in the registers of a thread, and in threads next to each other.
func (t *Tiles) Natural(dims []*tile.Range) *layout.Layout {
	sizes := t.Sizes(dims)
	last := len(dims) - 1
	if last > 0 && t.along[dims[last]] {
		rows := 1
		for _, n := range sizes[:last] {
			rows *= n
		}
		if rows >= t.Threads.Warps && sizes[last] >= vector*t.Threads.Lanes {
			return layout.Rows(sizes, last, vector, t.Threads)
		}
	}
	return layout.Blocked(sizes, last, vector, t.Threads)
}

// Over is at, of dims, for a tile that has some of them, in their order among dims.
func Over(at *layout.Layout, dims, some []*tile.Range) *layout.Layout {
	return at.Project(kept(dims, some))
}

// kept says which of dims are among some.
func kept(dims, some []*tile.Range) []bool {
	keep := make([]bool, len(dims))
	for i, d := range dims {
		keep[i] = slices.Contains(some, d)
	}
	return keep
}

// Part is the layout of v for a reader with the layout at of dims, of which v has some, and which register of v belongs
// to a register of the reader.
func Part(v *tile.Value, dims []*tile.Range, at *layout.Layout) (*layout.Layout, func(r int) int) {
	mine := Over(at, dims, v.Type.Dims)
	if same, ok := permutation(dims, v.Type.Dims); ok {
		mine = mine.Permute(same)
	}
	return mine, at.Registers(kept(dims, v.Type.Dims))
}

// permutation is where each of to is among those of from that are in to; false if they are in
// the same order.
func permutation(from, to []*tile.Range) ([]int, bool) {
	var both []*tile.Range
	for _, d := range from {
		if slices.Contains(to, d) {
			both = append(both, d)
		}
	}
	out, moved := make([]int, len(to)), false
	for i, t := range to {
		out[i] = max(0, slices.Index(both, t))
		moved = moved || out[i] != i
	}
	return out, moved
}

// Project is b, of dims, as a position of a tile over others: 0 along what b lacks.
func Project(b layout.Basis, dims, others []*tile.Range) layout.Basis {
	out := make(layout.Basis, len(others))
	for i, r := range others {
		if d := slices.Index(dims, r); d >= 0 {
			out[i] = b[d]
		}
	}
	return out
}
