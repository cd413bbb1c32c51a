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
	unroll  int  // steps of a loop over a depth that are written out
	split   bool // groups and chunks of rows are in the task number
	limited bool
}

// line is the number of f32 in a cache line.
const line = 16

// wantTasks is how many tasks an attention has at least, if it is large enough.
const wantTasks = 12

// newBlocking is how s is cut for m: by its blocks where it has some, and otherwise as
// the estimates of this file say.
func newBlocking(s *Spec, m kernel.Machine) (blocking, error) {
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
	p.unroll = m.Steps(p.mr * p.wide)
	p.vecs = min(p.wide, pow2(ceil(s.Keys, p.lanes)))
	p.nr = p.vecs * p.lanes
	if s.Blocks != nil {
		return p, p.given(s)
	}
	p.cutKeys(s, p.keys(s, m))
	rows := int64(24) // whose scores live in L1
	if !p.split {
		rows = 48 // over which products are summed as well
	}
	p.cutRows(s, rows)
	p.cutTasks(s, p.task(s, m))
	return p, nil
}

// keys are the most that a block has: what is packed of them lives in half of L2.
func (p *blocking) keys(s *Spec, m kernel.Machine) int64 {
	width := int64(0) // of what is packed of a key
	for i := range s.ByKey {
		uses := int64(0)
		if s.across(i) {
			uses++
		}
		if s.along(i) {
			uses++
		}
		width += uses * p.rowLen(&s.ByKey[i])
	}
	for _, o := range s.Outs {
		if o.Over != OverKeys {
			width += p.rowLen(&s.ByRow[o.Of])
		}
	}
	return min(256, max(p.nr, int64(m.L2)/2/(4*width)/p.nr*p.nr))
}

// cutKeys cuts keys into nearly equal blocks of at most so many, or one panel.
func (p *blocking) cutKeys(s *Spec, most int64) {
	p.blocks = ceil(s.Keys, max(most, p.nr))
	p.kb = ceil(ceil(s.Keys, p.blocks), p.nr) * p.nr
	p.blocks = ceil(s.Keys, p.kb)
}

// cutRows cuts rows into blocks of so many, in whole tiles. A task has all of them.
func (p *blocking) cutRows(s *Spec, rows int64) {
	p.rb = p.mr * min(ceil(s.Rows, p.mr), max(1, rows/p.mr))
	p.chunk, p.chunks = ceil(s.Rows, p.rb)*p.rb, 1
}

// task are the rows of one: each packs all keys that it sees, so that it is as long as
// what waits of its rows lives in L2, but not so long that tasks are few.
func (p *blocking) task(s *Spec, m kernel.Machine) int64 {
	width := int64(0)
	for i := range s.ByRow {
		width += p.spread(p.rowLen(&s.ByRow[i]))
	}
	for _, o := range s.Outs {
		width += p.rowLen(&s.ByKey[o.Of])
	}
	problems := product(s.Outer) * product(s.Groups)
	long := min(512, max(2*p.rb, int64(m.L2)/(4*width)))
	parts := max(ceil(s.Rows, long), min(ceil(wantTasks, problems), ceil(s.Rows, 2*p.rb)))
	return ceil(s.Rows, parts)
}

// cutTasks gives a task so many rows, in whole blocks, where tasks may share rows out.
func (p *blocking) cutTasks(s *Spec, rows int64) {
	if p.split {
		p.chunk = ceil(min(rows, s.Rows), p.rb) * p.rb
		p.chunks = ceil(s.Rows, p.chunk)
	}
}

// padded is the columns of one position of Subs in whole vectors, rowLen those of all.
func (p *blocking) padded(o *Operand) int64 { return ceil(o.Cols, p.lanes) * p.lanes }
func (p *blocking) rowLen(o *Operand) int64 { return product(o.Subs) * p.padded(o) }

// panelVecs is the number of vectors of a panel of the columns of o.
func (p *blocking) panelVecs(o *Operand) int64 { return min(p.wide, p.padded(o)/p.lanes) }

// spread rounds a distance up to an odd number of cache lines (or of vectors, if those
// are longer), so that the rows of a tile spread over the sets of L1.
func (p *blocking) spread(n int64) int64 {
	unit := max(p.lanes, line)
	return (ceil(n, unit) | 1) * unit
}

// stored reports whether the sums of o wait in the result: if a task has all rows, scratch would have
// to hold the entire result.
func (p *blocking) stored(o Out) bool { return o.Load != nil && !p.split }

// accRows is the number of rows of a task, of all groups, in whole tiles.
func (p *blocking) accRows(s *Spec) int64 {
	if p.split {
		return p.chunk
	}
	return product(s.Inner) * product(s.Groups) * p.groupRows(s)
}

// groupRows is the distance between groups in the sums by rows.
func (p *blocking) groupRows(s *Spec) int64 { return ceil(s.Rows, p.mr) * p.mr }

// rowStride is the distance in f32 between packed rows of o.
func (p *blocking) rowStride(o *Operand) int64 { return p.spread(p.rowLen(o)) }

// scoreStride is the distance in f32 between rows of scores: there is room for a tile of
// keys past the last.
func (p *blocking) scoreStride() int64 { return p.spread(p.kb + ceil(p.mr, p.lanes)*p.lanes) }

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
