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

// run is the longest contiguous piece of the slice that begins at the byte at of
// its row-major order.
func (p Part) run(at int) []byte {
	if p.Parts == 1 {
		return p.Buf[at:p.Bytes()]
	}
	o, i := at/p.Inner, at%p.Inner
	base := (o*p.Parts + p.Index) * p.Inner
	return p.Buf[base+i : base+p.Inner]
}

// Run is the contiguous piece of the slice from the byte at on, at most n bytes.
func (p Part) Run(at, n int) []byte {
	r := p.run(at)
	return r[:min(n, len(r))]
}

// Copy copies the bytes [lo, hi) of the row-major order of src to the same of
// dst: the two slices have the same size, whatever their views.
func Copy(dst, src Part, lo, hi int) {
	for lo < hi {
		d, s := dst.Run(lo, hi-lo), src.Run(lo, hi-lo)
		lo += copy(d, s)
	}
}

// Zero clears bytes.
func Zero(b []byte) { clear(b) }
