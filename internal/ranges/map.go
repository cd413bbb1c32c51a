package ranges

import (
	"slices"
	"sort"
)

// Map gives each number a value, the zero value at first, and holds stretches of
// one value as one run. A change takes time for the runs that it touches, of which
// it leaves at most two more than it made, and a logarithm: any number of changes
// takes little more than time in proportion to their number.
//
// The runs lie in chunks of some dozens, so that a change in the middle moves few
// of them. A balanced tree would do the same with more code and worse locality.
type Map[V comparable] struct {
	chunks [][]run[V] // by lo; none is empty
}

type run[V comparable] struct {
	lo, hi int64
	v      V
}

const chunk = 64 // runs; twice as many are split

// seek is where the first run stands that ends behind at.
func (m *Map[V]) seek(at int64) (c, i int) {
	c = sort.Search(len(m.chunks), func(c int) bool {
		runs := m.chunks[c]
		return runs[len(runs)-1].hi > at
	})
	if c == len(m.chunks) {
		return c, 0
	}
	runs := m.chunks[c]
	return c, sort.Search(len(runs), func(i int) bool { return runs[i].hi > at })
}

// Each calls yield for every run that meets [lo, hi), in ascending order, until
// it says false. Numbers without a value belong to no run.
func (m *Map[V]) Each(lo, hi int64, yield func(lo, hi int64, v V) bool) {
	for c, i := m.seek(lo); c < len(m.chunks); c, i = c+1, 0 {
		for _, r := range m.chunks[c][i:] {
			if r.lo >= hi || !yield(r.lo, r.hi, r.v) {
				return
			}
		}
	}
}

// Any reports whether a number of [lo, hi) has a value.
func (m *Map[V]) Any(lo, hi int64) bool {
	c, i := m.seek(lo)
	return lo < hi && c < len(m.chunks) && m.chunks[c][i].lo < hi
}

// All reports whether every number of [lo, hi) has the value v.
func (m *Map[V]) All(lo, hi int64, v V) bool {
	at := lo
	m.Each(lo, hi, func(lo, hi int64, w V) bool {
		if lo > at || w != v {
			return false
		}
		at = hi
		return true
	})
	return at >= hi
}

// Set gives every number of [lo, hi) the value v.
func (m *Map[V]) Set(lo, hi int64, v V) { m.Update(lo, hi, func(V) V { return v }) }

// Update gives every number of [lo, hi) the value that next makes of its own.
func (m *Map[V]) Update(lo, hi int64, next func(V) V) {
	if lo >= hi {
		return
	}
	var out []run[V]
	var none V
	add := func(lo, hi int64, v V) {
		if lo >= hi || v == none {
			return
		}
		if n := len(out) - 1; n >= 0 && out[n].hi == lo && out[n].v == v {
			out[n].hi = hi
			return
		}
		out = append(out, run[V]{lo, hi, v})
	}
	c, i := m.seek(lo)
	d, j := c, i // behind the last run that is replaced
	at := lo
	for d < len(m.chunks) && m.chunks[d][j].lo < hi {
		r := m.chunks[d][j]
		add(r.lo, lo, r.v)
		add(at, r.lo, next(none))
		at = min(r.hi, hi)
		add(max(r.lo, lo), at, next(r.v))
		add(hi, r.hi, r.v)
		if j++; j == len(m.chunks[d]) {
			d, j = d+1, 0
		}
	}
	if at < hi {
		add(at, hi, next(none))
	}
	m.splice(c, i, d, j, out)
}

// splice puts runs in the place of those from run i of chunk c up to run j of
// chunk d.
func (m *Map[V]) splice(c, i, d, j int, with []run[V]) {
	switch {
	case c == len(m.chunks): // behind all
		if c == 0 {
			m.chunks = append(m.chunks, nil)
		} else {
			c--
		}
		m.chunks[c] = append(m.chunks[c], with...)
	case c == d:
		m.chunks[c] = slices.Replace(m.chunks[c], i, j, with...)
	default:
		if j > 0 { // the rest of chunk d
			with = append(with, m.chunks[d][j:]...)
			d++
		}
		m.chunks[c] = append(m.chunks[c][:i], with...)
		m.chunks = slices.Delete(m.chunks, c+1, d)
	}
	switch runs := m.chunks[c]; {
	case len(runs) == 0:
		m.chunks = slices.Delete(m.chunks, c, c+1)
	case len(runs) > 2*chunk:
		var parts [][]run[V]
		for part := range slices.Chunk(runs, chunk) {
			parts = append(parts, slices.Clone(part))
		}
		m.chunks = slices.Replace(m.chunks, c, c+1, parts...)
	}
}
