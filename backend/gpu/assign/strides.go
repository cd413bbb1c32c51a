package assign

import (
	"slices"

	"ptc/backend/gpu/layout"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

// Strides is how an access reaches the elements of a tile in a layout, but for what depends on the thread and the
// block of each range.
type Strides struct {
	Looked bool    // a position is looked up: whether it is in range is known at run time alone
	Each   []int64 // by dimension: how far elements are apart
	dims   []*tile.Range
	at     *layout.Layout
	pad    []int64 // by dimension: how many elements that hold nothing are behind its last one
	whole  int64   // what the address of register 0 is a multiple of, whatever the thread
}

// StridesOf is how o accesses a tile of dims in a layout.
func StridesOf(o *tile.Op, dims []*tile.Range, at *layout.Layout) *Strides {
	s := &Strides{Each: make([]int64, len(dims)), dims: dims, at: at, pad: make([]int64, len(dims)), whole: 1 << 20}
	s.align(int64(o.View.Offset))
	for i, a := range o.View.Axes {
		if IsLooked(o.At[i]) {
			s.Looked = true
			s.whole = 1
			continue
		}
		s.align(o.At[i].Const * int64(a.Stride))
		for _, t := range o.At[i].Terms {
			by := t.Coef * int64(a.Stride)
			if t.Range.Blocks() > 1 { // else it is at 0
				s.align(by * t.Range.Size)
			}
			if d := slices.Index(dims, t.Range); d >= 0 {
				s.Each[d] += by
				if len(o.At[i].Terms) == 1 && o.At[i].Const == 0 && by == 1 && t.Range.Extent == int64(a.Size) {
					s.pad[d] = int64(a.Pad)
				}
			}
		}
	}
	for _, n := range s.Each {
		if n != 0 && n != 1 {
			s.align(n)
		}
	}
	return s
}

// align notes that a multiple of n is added to the address.
func (s *Strides) align(n int64) {
	for n%s.whole != 0 {
		s.whole /= 2
	}
}

// Offset is how far the element of register r is from that of register 0.
func (s *Strides) Offset(r int) int64 {
	n := int64(0)
	for d, by := range s.Each {
		n += by * int64(s.at.Offset(r, d))
	}
	return n
}

// Width is how many registers from 0 on have neighbours in memory of elements e, which one access reaches
// wherever the thread is: at most 16 bytes.
func (s *Strides) Width(e kernel.Elem) int {
	if s.Looked {
		return 1
	}
	n := 1
	for n*2 <= s.at.Regs() && n*2*e.Bytes() <= 16 && s.Offset(n) == int64(n) && s.whole%int64(n*2) == 0 {
		n *= 2
	}
	for d, r := range s.dims { // a limit that cuts through neighbours separates them, unless what is behind it is padding
		for n > 1 && s.Each[d] == 1 && (s.Past(d, n) > s.pad[d] || r.Size%int64(n) != 0 && r.Blocks() > 1) {
			n /= 2
		}
		if n > 1 && s.Each[d] == 1 && !s.at.Steps(d, n) {
			n = 1
		}
	}
	return n
}

// Past is how many elements behind the last along dimension d an access of n neighbours reaches.
func (s *Strides) Past(d, n int) int64 {
	if s.Each[d] != 1 {
		return 0
	}
	extent, each := s.dims[d].Extent, int64(n)
	return (extent+each-1)/each*each - extent
}

// run is how many neighbours in memory the lanes of a warp access in one instruction.
func (s *Strides) run() int64 {
	if s.Looked {
		return 1
	}
	n := int64(1)
	bases := slices.Concat(s.at.Reg[:min(2, len(s.at.Reg))], s.at.Lane)
	for again := true; again; {
		again = false
		for _, b := range bases {
			far := int64(0)
			for d, by := range s.Each {
				far += by * int64(b[d])
			}
			if far == n {
				n, again = 2*n, true
			}
		}
	}
	return n
}

// IsLooked reports whether x depends on elements of a tile.
func IsLooked(x tile.Affine) bool {
	return slices.ContainsFunc(x.Terms, func(t tile.Term) bool { return t.Value != nil })
}
