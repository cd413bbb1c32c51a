package attention

import "ptc/backend/kernel"

// blocking is how an attention is cut, every size of it static.
type blocking struct {
	lanes   int64
	mr      int64 // rows (or keys) of a register tile
	wide    int64 // vectors of a register tile
	vecs    int64 // vectors of a panel of keys
	nr      int64 // keys of a panel
	kb      int64 // keys of a block: whole panels
	blocks  int64 // blocks of keys
	rb      int64 // rows of a block: whole tiles
	chunk   int64 // rows of a task: whole blocks, where the task number says which rows
	chunks  int64
	split   bool // groups and chunks of rows are in the task number
	limited bool
}

// line is the number of f32 in a cache line.
const line = 16

// wantTasks is how many tasks an attention has at least, if it is large enough.
const wantTasks = 12

func newBlocking(s *Spec, m kernel.Machine) blocking {
	p := blocking{lanes: int64(m.Lanes(kernel.F32)), split: true, limited: s.Limits != nil}
	for _, o := range s.Outs {
		p.split = p.split && o.Over == OverKeys
	}
	p.wide = 2
	if p.lanes <= 4 && m.Registers >= 32 {
		p.wide = 4 // short vectors: fewer broadcasts for each of them
	}
	spare := p.wide + 2 // the right operand, one element of the left, and one more
	if !m.FMA {
		spare++ // the product
	}
	most := min(16, max(1, (int64(m.Registers)-spare)/p.wide))
	p.mr = ceil(s.Rows, ceil(s.Rows, most))
	p.vecs = min(p.wide, pow2(ceil(s.Keys, p.lanes)))
	p.nr = p.vecs * p.lanes

	width := int64(0) // of what is packed of a key
	for i := range s.ByKey {
		uses := int64(0)
		if p.across(s, i) {
			uses++
		}
		if p.along(s, i) {
			uses++
		}
		width += uses * p.width(&s.ByKey[i])
	}
	for _, o := range s.Outs {
		if o.Over != OverKeys {
			width += p.width(&s.ByRow[o.Of])
		}
	}
	// What is packed of a block of keys lives in half of L2.
	most = min(256, max(p.nr, int64(m.L2)/2/(4*width)/p.nr*p.nr))
	p.blocks = ceil(s.Keys, most)
	p.kb = ceil(ceil(s.Keys, p.blocks), p.nr) * p.nr
	p.blocks = ceil(s.Keys, p.kb)

	rows := int64(24) // whose scores live in L1
	if !p.split {
		rows = 48 // over which products are summed as well
	}
	tiles := ceil(s.Rows, p.mr)
	p.rb = p.mr * min(tiles, max(1, rows/p.mr))
	p.chunk, p.chunks = ceil(s.Rows, p.rb)*p.rb, 1
	if p.split {
		// Each chunk packs all keys that it sees: it is as long as what waits of its rows
		// lives in L2, but not so long that tasks are few.
		width := int64(0)
		for i := range s.ByRow {
			width += p.spread(p.width(&s.ByRow[i]))
		}
		for _, o := range s.Outs {
			width += p.width(&s.ByKey[o.Of])
		}
		problems := product(s.Outer) * product(s.Groups)
		long := min(512, max(2*p.rb, int64(m.L2)/(4*width)))
		parts := max(ceil(s.Rows, long), min(ceil(wantTasks, problems), ceil(s.Rows, 2*p.rb)))
		p.chunk = ceil(ceil(s.Rows, parts), p.rb) * p.rb
		p.chunks = ceil(s.Rows, p.chunk)
	}
	return p
}

// across reports whether key operand i is packed with lanes along keys.
func (p *blocking) across(s *Spec, i int) bool {
	for _, in := range s.Into {
		if in.Key == i {
			return true
		}
	}
	return false
}

// along reports whether key operand i is packed with lanes along columns.
func (p *blocking) along(s *Spec, i int) bool {
	for _, o := range s.Outs {
		if o.Over == OverKeys && o.Of == i {
			return true
		}
	}
	return false
}

// padded is the columns of one position of Subs in whole vectors, width all of them.
func (p *blocking) padded(o *Operand) int64 { return ceil(o.Cols, p.lanes) * p.lanes }
func (p *blocking) width(o *Operand) int64  { return product(o.Subs) * p.padded(o) }

// panelVecs is the number of vectors of a panel of the columns of o.
func (p *blocking) panelVecs(o *Operand) int64 { return min(p.wide, p.padded(o)/p.lanes) }

// spread rounds a distance up to an odd number of cache lines (or of vectors, if those
// are longer), so that the rows of a tile spread over the sets of L1.
func (p *blocking) spread(n int64) int64 {
	unit := max(p.lanes, line)
	return (ceil(n, unit) | 1) * unit
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }

// pow2 is the largest power of two that is not above n.
func pow2(n int64) int64 {
	p := int64(1)
	for 2*p <= n {
		p *= 2
	}
	return p
}

func product(sizes []int64) int64 {
	n := int64(1)
	for _, s := range sizes {
		n *= s
	}
	return n
}
