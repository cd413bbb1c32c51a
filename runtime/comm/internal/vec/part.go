package vec

// Part is one member's slice of a buffer viewed as [Outer, Parts, Inner], with
// Inner in bytes: the elements [:, Index, :]. With Parts 1 it is the whole.
type Part struct {
	Buf                        []byte
	Outer, Parts, Inner, Index int
}

// Bytes is the size of the slice.
func (p Part) Bytes() int { return p.Outer * p.Inner }

// Contiguous gives the slice's bytes when they are adjacent.
func (p Part) Contiguous() ([]byte, bool) {
	if p.Outer != 1 && p.Parts != 1 {
		return nil, false
	}
	n := p.Bytes()
	return p.Buf[p.Index*n : (p.Index+1)*n : (p.Index+1)*n], true
}

// Run is the contiguous piece of the slice that begins at the byte at of its
// row-major order, at most n bytes.
func (p Part) Run(at, n int) []byte {
	c := p.from(at)
	return c.run[:min(n, len(c.run))]
}

// cursor walks over the contiguous pieces of a slice.
type cursor struct {
	run  []byte // what is left of the piece
	next int    // where the next one begins
}

func (p *Part) from(at int) cursor {
	if p.Parts == 1 {
		return cursor{run: p.Buf[at:p.Bytes()]}
	}
	base := (at/p.Inner*p.Parts + p.Index) * p.Inner
	return cursor{p.Buf[base+at%p.Inner : base+p.Inner], base + p.Parts*p.Inner}
}

func (c *cursor) advance(p *Part, n int) {
	c.run = c.run[n:]
	if len(c.run) == 0 && c.next > 0 && c.next < len(p.Buf) {
		c.run = p.Buf[c.next : c.next+p.Inner]
		c.next += p.Parts * p.Inner
	}
}

// Copy copies the bytes [lo, hi) of the row-major order of src to the same of
// dst: the two slices have the same size, whatever their views.
func Copy(dst, src Part, lo, hi int) {
	if lo == hi {
		return
	}
	d, s := dst.from(lo), src.from(lo)
	for lo < hi {
		if len(s.run) > hi-lo {
			s.run = s.run[:hi-lo]
		}
		n := copy(d.run, s.run)
		lo += n
		d.advance(&dst, n)
		s.advance(&src, n)
	}
}
