package gemm

import "ptc/backend/kernel"

// caching is a tiling, and how much of its operands and sums lies in the caches at a time:
// the second stage of a [blocking]. K is split into steps of kc; the last step may be shorter.
type caching struct {
	tiling
	kc, steps  int64 // depth of one packed block; blocks in K
	accumulate bool  // partial sums wait in scratch: more than one block of K
	inPlace    bool  // the left operand is loaded where it is used
	fitPanels  int64 // packed panels that there is room for at once
	fitTiles   int64 // packed tiles
	fitSums    int64 // sums that may wait
}

// fewPanels is how many panels a product may have for its left operand to be loaded
// where it is used: so few uses do not pay for packing it.
const fewPanels = 32

// newCaching cuts K into nearly equal blocks of at most so many steps. Half of L2 is for
// packed panels: where all of them are there when a tile's turn comes, it need not be packed
// for a few.
func newCaching(s *Spec, m kernel.Machine, t tiling, most int64) caching {
	c := caching{tiling: t, steps: ceil(s.K, most), kc: s.K, fitSums: int64(m.L2) / 2}
	if c.steps > 1 {
		c.kc = ceil(ceil(s.K, c.steps), t.unit()) * t.unit()
		c.steps = ceil(s.K, c.kc)
	}
	c.kc = ceil(c.kc, t.by.deep()) * t.by.deep()
	c.accumulate = c.steps*product(s.OuterK) > 1
	// The packed tiles of a task live in L2; sums that wait share it with them or lie in L3.
	// Both are read in order, tiles once for every panel, sums once for every
	// block of K, so that what does not fit comes in time from L3.
	panels, slots := int64(m.L2)/2, int64(m.L2)*3/8
	if t.by == tiles { // which take 64 bytes a cycle from L2, and a quarter of it from what is behind
		panels, slots = int64(m.L2)/8, int64(m.L2)/2/4
	}
	c.fitPanels = max(1, panels/(4*c.kc*t.rightStep()))
	c.fitTiles = max(1, slots/c.slotStride())
	c.inPlace = t.by == multiplyAdds && s.Left.Unit == AlongK && s.Left.Cost == 0 && t.panels <= min(c.fitPanels, fewPanels)
	return c
}

// deepest is the largest depth of a block: the sums are then loaded and stored
// once for so many multiply-adds that it costs next to nothing.
const deepest = 256

// shallow is the depth of a block where the right operand is loaded in place:
// so many rows of it are read side by side, each from front to back, rather than
// a few columns of each of very many.
const shallow = 16

// depth chooses the most steps of K that a block has, so that a panel of the right
// operand takes at most half of L1, where it stays while the tiles of the left one
// stream past.
func (t tiling) depth(s *Spec, m kernel.Machine) int64 {
	if t.direct {
		return shallow / min(2, max(1, s.M/4))
	}
	unit := t.unit()
	if t.by == tiles {
		return t.tileDepth(s, m)
	}
	most := int64(m.L1) / (4 * t.rightStep()) / unit * unit
	return min(max(most, 2*unit), deepest*min(2, t.by.step())/unit*unit)
}

// slotStride is the distance in f32 between packed tiles of the left operand:
// more than a tile takes, as its last vector may reach past it.
func (c *caching) slotStride() int64 {
	return ceil(ceil(c.kc, c.lanes)*c.lanes*c.leftStep(), line)*line + max(c.lanes, line)
}

// rowStride is the distance in f32 between the rows of a staged tile: an odd
// number of cache lines (or of vectors, if those are longer), so that they spread
// over the sets of L1.
func (c *caching) rowStride() int64 {
	unit := max(c.lanes, line)
	return (ceil(c.kc, unit) | 1) * unit
}

// staged reports whether the rows of a tile are computed into scratch before they
// are transposed: a prologue is then generated once, not once for each row.
func (c *caching) staged(left *Operand) bool {
	return left.Unit == AlongK && !c.inPlace && c.mr > 1 && c.squares() && left.Cost > 0 && c.by != tiles
}
