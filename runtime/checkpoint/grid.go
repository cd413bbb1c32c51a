package checkpoint

import (
	"fmt"
	"math"
)

// grid says which part has which slice of a tensor. Starts are where slices begin along each axis, Parts the
// number of the part, from 1, that has each cell between them, row-major; the cells of one part are a box. So
// slices that a grid describes never overlap, and leave nothing out. Without starts the tensor is one cell, and
// without parts it is in a file that is no part.
type grid struct {
	Starts [][]int64 `json:"starts,omitempty"`
	Parts  []int32   `json:"parts,omitempty"`
}

// held is the slice of a tensor that a part has.
type held struct {
	part int // from 1; 0: the file is no part
	Slice
}

// check holds a grid to the shape of its tensor and to the number of parts. It takes what nobody vouches for.
func (g *grid) check(shape []int64, parts int) error {
	cells := 1
	if len(g.Starts) > 0 && len(g.Starts) != len(shape) {
		return fmt.Errorf("the slices have starts along %d axes, but the tensor has %d axes", len(g.Starts), len(shape))
	}
	for i, starts := range g.Starts {
		if len(starts) == 0 || starts[0] != 0 {
			return fmt.Errorf("the slices along axis %d do not start at 0", i)
		}
		for j := 1; j < len(starts); j++ {
			if starts[j] <= starts[j-1] || starts[j] >= shape[i] {
				return fmt.Errorf("a slice starts at %d of axis %d, after one that starts at %d, but the axis has %d elements", starts[j], i, starts[j-1], shape[i])
			}
		}
		if cells > math.MaxInt32/len(starts) {
			return fmt.Errorf("there are more slices than elements")
		}
		cells *= len(starts)
	}
	if len(g.Parts) != cells {
		return fmt.Errorf("%d slices need as many parts, but %d are listed", cells, len(g.Parts))
	}
	for _, p := range g.Parts {
		if p < 1 || int(p) > parts {
			return fmt.Errorf("a slice is in part %d of %d", p, parts)
		}
	}
	return g.boxes()
}

// boxes fails where the cells of one part are no box.
func (g *grid) boxes() error {
	cells := map[int32]int{}
	for _, p := range g.Parts {
		cells[p]++
	}
	for p, b := range g.bounds(0) {
		n := 1
		for i := range b.lo {
			n *= b.hi[i] - b.lo[i]
		}
		if n != cells[p] {
			return fmt.Errorf("the elements in part %d are not a slice", p)
		}
	}
	return nil
}

// bound is a box of cells, [lo, hi).
type bound struct{ lo, hi []int }

// bounds gives the box around the cells of each part, or of only one.
func (g *grid) bounds(only int32) map[int32]*bound {
	out := map[int32]*bound{}
	at := make([]int, len(g.Starts))
	for _, p := range g.Parts {
		if only == 0 || p == only {
			b := out[p]
			if b == nil {
				b = &bound{make([]int, len(at)), make([]int, len(at))}
				copy(b.lo, at)
				out[p] = b
			}
			for i, x := range at {
				b.lo[i], b.hi[i] = min(b.lo[i], x), max(b.hi[i], x+1)
			}
		}
		for i := len(at) - 1; i >= 0; i-- {
			if at[i]++; at[i] < len(g.Starts[i]) {
				break
			}
			at[i] = 0
		}
	}
	return out
}

// slice is a box of cells as elements of a tensor of that shape.
func (g *grid) slice(b *bound, shape []int64) Slice {
	s := Slice{Offset: make([]int64, len(shape)), Extent: append([]int64{}, shape...)}
	for i, starts := range g.Starts {
		end := shape[i]
		if b.hi[i] < len(starts) {
			end = starts[b.hi[i]]
		}
		s.Offset[i] = starts[b.lo[i]]
		s.Extent[i] = end - s.Offset[i]
	}
	return s
}

// of is the slice that a part has, and whether it has one.
func (g *grid) of(part int, shape []int64) (Slice, bool) {
	b := g.bounds(int32(part))[int32(part)]
	if b == nil {
		return Slice{}, false
	}
	return g.slice(b, shape), true
}

// slices are those of all parts, in the order in which the grid names the parts.
func (g *grid) slices(shape []int64) []held {
	if len(g.Parts) == 0 {
		return []held{{0, g.slice(&bound{}, shape)}}
	}
	bounds := g.bounds(0)
	out := make([]held, 0, len(bounds))
	for _, p := range g.Parts {
		if b := bounds[p]; b != nil {
			out = append(out, held{int(p), g.slice(b, shape)})
			delete(bounds, p)
		}
	}
	return out
}
