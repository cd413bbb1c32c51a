package checkpoint

import (
	"cmp"
	"slices"

	"ptc/internal/dtype"
	"ptc/internal/order"
)

// Division says which of several processes writes which slice of each tensor. It is a function of the tensors and
// of who has which of their boxes, so that every process computes the same one.
type Division struct {
	parts   int
	tensors []Tensor
	grids   []grid // by tensor
}

// Box is a box of a tensor, and the ranks that have it, in order.
type Box struct {
	Slice
	Ranks []int
}

// piecesOfMean says how large a slice may be where it could be smaller: the mean of what a process writes, over
// this.
const piecesOfMean = 8

// Divide divides tensors among processes: what one process alone has is written by that one, and what several
// have by the one of them that has the least to write so far, or, where it is large, by several, each a range of
// its first axis. boxes gives the boxes of a tensor, which do not overlap and make up all of it; a process has
// at most one of each tensor.
func Divide(tensors []Tensor, processes int, boxes func(tensor int) []Box) *Division {
	d := &Division{parts: processes, tensors: tensors, grids: make([]grid, len(tensors))}
	all := int64(0)
	for _, t := range tensors {
		all += t.Bytes()
	}
	s := sharing{loads: make([]int64, processes), most: max(1, all/int64(processes)/piecesOfMean)}
	// The largest first, so that the small ones even out.
	for _, i := range order.By(len(tensors), func(a, b int) int { return cmp.Compare(tensors[b].Bytes(), tensors[a].Bytes()) }) {
		var own []held
		for _, b := range boxes(i) {
			own = append(own, s.share(b, int64(tensors[i].DType.Size()))...)
		}
		d.grids[i] = gridOf(tensors[i].Shape, own)
	}
	return d
}

// sharing is how far a division has come.
type sharing struct {
	loads []int64 // bytes, by rank
	most  int64   // bytes of a slice
}

// share gives a box to those that write it.
func (s *sharing) share(b Box, elem int64) []held {
	bytes, axis := elem, -1
	for i, n := range b.Extent {
		bytes *= n
		if axis < 0 && n > 1 {
			axis = i
		}
	}
	n := int64(1)
	if axis >= 0 && bytes > 0 {
		n = min(int64(len(b.Ranks)), b.Extent[axis], (bytes+s.most-1)/s.most)
	}
	if n == 1 {
		rank := slices.MinFunc(b.Ranks, s.lessLoaded)
		s.loads[rank] += bytes
		return []held{{rank + 1, b.Slice}}
	}
	ranks := slices.Clone(b.Ranks)
	slices.SortFunc(ranks, s.lessLoaded)
	var out []held
	for i, rank := range ranks[:n] {
		from, to := b.Extent[axis]*int64(i)/n, b.Extent[axis]*int64(i+1)/n
		piece := Slice{Offset: slices.Clone(b.Offset), Extent: slices.Clone(b.Extent)}
		piece.Offset[axis] += from
		piece.Extent[axis] = to - from
		s.loads[rank] += bytes / b.Extent[axis] * (to - from)
		out = append(out, held{rank + 1, piece})
	}
	return out
}

func (s *sharing) lessLoaded(a, b int) int {
	return cmp.Or(cmp.Compare(s.loads[a], s.loads[b]), cmp.Compare(a, b))
}

// gridOf is the grid of slices that do not overlap and make up a tensor.
func gridOf(shape []int64, own []held) grid {
	g := grid{Starts: make([][]int64, len(shape))}
	cells := 1
	for i := range shape {
		for _, h := range own {
			g.Starts[i] = append(g.Starts[i], h.Offset[i])
		}
		slices.Sort(g.Starts[i])
		g.Starts[i] = slices.Compact(g.Starts[i])
		cells *= len(g.Starts[i])
	}
	g.Parts = make([]int32, cells)
	for _, h := range own {
		g.fill(h)
	}
	if cells == 1 {
		g.Starts = nil
	}
	return g
}

// fill gives a slice's cells to its part.
func (g *grid) fill(h held) {
	from := []int{0}
	for i, starts := range g.Starts {
		lo, _ := slices.BinarySearch(starts, h.Offset[i])
		hi, _ := slices.BinarySearch(starts, h.Offset[i]+max(1, h.Extent[i]))
		next := make([]int, 0, len(from)*(hi-lo))
		for _, at := range from {
			for x := lo; x < hi; x++ {
				next = append(next, at*len(starts)+x)
			}
		}
		from = next
	}
	for _, at := range from {
		g.Parts[at] = int32(h.part)
	}
}

// Piece is the slice of a tensor that a process writes.
type Piece struct {
	Tensor int // its place in the list
	Slice
	Bytes int64
}

// Pieces are what a process writes, in the order in which it has to write them.
func (d *Division) Pieces(rank int) []Piece {
	var out []Piece
	for i := range d.tensors {
		t := &d.tensors[i]
		if s, ok := d.grids[i].of(rank+1, t.Shape); ok {
			out = append(out, Piece{i, s, dtype.Bytes(t.DType, s.Elems())})
		}
	}
	order := Order(d.tensors)
	place := make([]int, len(order))
	for at, i := range order {
		place[i] = at
	}
	slices.SortFunc(out, func(a, b Piece) int { return cmp.Compare(place[a.Tensor], place[b.Tensor]) })
	return out
}

// Bytes is how much each process writes of the tensors, by rank.
func (d *Division) Bytes() []int64 {
	out := make([]int64, d.parts)
	for i := range d.tensors {
		t := &d.tensors[i]
		for _, h := range d.grids[i].slices(t.Shape) {
			out[h.part-1] += dtype.Bytes(t.DType, h.Elems())
		}
	}
	return out
}
