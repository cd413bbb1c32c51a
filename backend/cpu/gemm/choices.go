package gemm

import (
	"cmp"
	"fmt"
	"slices"

	"ptc/backend/kernel"
)

// Blocks are the sizes that a product is cut by, where these are given, and not chosen
// by estimates. A size beyond the product's own stands for all of it.
type Blocks struct {
	TileRows, TileCols int64 // of the sums that are in registers; whole vectors of columns
	Depth              int64 // of a block of K, whose operands are packed at a time
	Rows, Cols         int64 // of a task
}

func (b Blocks) String() string {
	return fmt.Sprintf("tiles of %dx%d, blocks of %d along K, tasks of %dx%d", b.TileRows, b.TileCols, b.Depth, b.Rows, b.Cols)
}

// Whole is the size of a block that has all of an axis, and the largest that a size may be.
const Whole = 1 << 40

// mostScratch is what a task may keep, in f32.
const mostScratch = 1 << 24

// given is how s.Blocks cut s. The error says which of them no kernel for m can have.
func given(s *Spec, m kernel.Machine) (blocking, error) {
	b := s.Blocks
	for _, n := range []int64{b.TileRows, b.TileCols, b.Depth, b.Rows, b.Cols} {
		if n < 1 || n > Whole {
			return blocking{}, fmt.Errorf("gemm: found %s; expected sizes from 1 to %d", b, int64(Whole))
		}
	}
	t := uncut(s, m)
	if b.TileCols%t.lanes != 0 {
		return blocking{}, fmt.Errorf("gemm: found tiles of %d columns; expected a multiple of the %d of a vector", b.TileCols, t.lanes)
	}
	size := tileSizes{min(b.TileRows, s.M), min(b.TileCols/t.lanes, ceil(s.N, t.lanes))}
	if t.by == tiles {
		if b.TileRows%kernel.TileRows != 0 || b.TileRows > tileSize || size.vecs > tileVecs {
			return blocking{}, fmt.Errorf("gemm: found tiles of %dx%d; expected %d or %d rows, and at most %d columns",
				b.TileRows, b.TileCols, kernel.TileRows, tileSize, tileVecs*t.lanes)
		}
		size.rows = b.TileRows
	} else if need := t.registers(m, size); size.rows > mostRows || need > max(int64(m.Registers), t.registers(m, tileSizes{1, 2})) {
		return blocking{}, fmt.Errorf("gemm: found tiles of %dx%d, which take %d registers; expected at most %d rows and %d registers",
			b.TileRows, b.TileCols, need, mostRows, m.Registers)
	}
	if b.Depth < s.K && b.Depth%t.unit() != 0 {
		return blocking{}, fmt.Errorf("gemm: found blocks of %d along K; expected a multiple of %d", b.Depth, t.unit())
	}
	c := newCaching(s, m, t.covered(s, size), b.Depth)
	x := part{perBlockM: min(c.tiles, ceil(b.Rows, c.mr)), perBlockN: min(c.panels, ceil(b.Cols, c.nr))}
	p := c.divided(c.priced(s, x, 0, Whole, -1))
	if n := p.scratch(); n > mostScratch {
		return p, fmt.Errorf("gemm: found tasks of %dx%d, which keep %d f32; expected at most %d", b.Rows, b.Cols, n, mostScratch)
	}
	return p, nil
}

// scratch is the memory of a task in f32, about: what is packed, and sums that wait.
func (p *blocking) scratch() int64 {
	n := p.mostTiles*p.slotStride() + p.group*p.kc*p.rightStep()
	if p.accumulate {
		n += p.mr * p.nr * p.mostTiles * p.mostPanels
	}
	return n
}

// sizes are the blocks that cut a product as p does.
func (p *blocking) sizes() Blocks {
	return Blocks{TileRows: p.mr, TileCols: p.nr, Depth: p.kc, Rows: p.perBlockM * p.mr, Cols: p.perBlockN * p.nr}
}

// Choices lists ways to cut s for m, the one that Generate takes by itself first: other
// depths, other register tiles, and other tasks that are estimated to cost little more.
// There is none where s is not cut into blocks. The error is as Generate's.
func Choices(s Spec, m kernel.Machine) ([]Blocks, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if _, dots := newDots(&s, m); dots {
		return nil, nil
	}
	s.Blocks = nil
	own, err := newBlocking(&s, m)
	if err != nil {
		return nil, err
	}
	out := []Blocks{own.sizes()}
	add := func(p blocking) {
		if b := p.sizes(); !slices.Contains(out, b) {
			out = append(out, b)
		}
	}
	for _, most := range own.otherDepths(s.K) {
		add(newCaching(&s, m, own.tiling, most).divide(&s))
	}
	for _, size := range own.otherTiles(&s, m) {
		t := own.covered(&s, size)
		add(newCaching(&s, m, t, t.depth(&s, m)).divide(&s))
	}
	for _, x := range own.apart(&s) {
		add(own.divided(x))
	}
	return out, nil
}

// otherDepths are depths of a block besides the one that c has: quarters of it to twice
// it, and all of K.
func (c *caching) otherDepths(k int64) []int64 {
	var out []int64
	unit := c.unit()
	for _, quarters := range []int64{1, 2, 3, 5, 6, 8} {
		if n := c.kc * quarters / 4 / unit * unit; n >= unit && n < k {
			out = append(out, n)
		}
	}
	if c.kc < k {
		out = append(out, k)
	}
	return out
}

// otherTiles are register tiles besides the one that t has, for several numbers of
// vectors the one of most rows, if it holds half as many sums or more.
func (t tiling) otherTiles(s *Spec, m kernel.Machine) []tileSizes {
	if t.by == tiles {
		return nil
	}
	var out []tileSizes
	fits := func(rows, vecs int64) bool { return t.registers(m, tileSizes{rows, vecs}) <= int64(m.Registers) }
	for _, vecs := range []int64{1, 2, 3, 4, 6} {
		rows := int64(1)
		for rows < mostRows && fits(rows+1, vecs) {
			rows++
		}
		rows = ceil(s.M, ceil(s.M, min(rows, s.M))) // of nearly equal ones
		if !fits(rows, vecs) || rows*vecs*2 < t.mr*t.vecs || vecs > ceil(s.N, t.lanes) {
			continue
		}
		if rows != t.mr || vecs != t.vecs {
			out = append(out, tileSizes{rows, vecs})
		}
	}
	return out
}

// alternatives is how many parts besides the cheapest are worth trying.
const alternatives = 5

// apart lists the parts of least cost that differ by half or more in tiles or panels
// from all that come before them.
func (c *caching) apart(s *Spec) []part {
	all := c.parts(s)
	slices.SortStableFunc(all, func(a, b part) int { return cmp.Compare(a.cost, b.cost) })
	far := func(a, b int64) bool { return 2*max(a, b) >= 3*min(a, b) }
	var out []part
	for _, x := range all {
		if len(out) > alternatives {
			break
		}
		if !slices.ContainsFunc(out, func(o part) bool { return !far(o.perBlockM, x.perBlockM) && !far(o.perBlockN, x.perBlockN) }) {
			out = append(out, x)
		}
	}
	return out
}
