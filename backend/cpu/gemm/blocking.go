package gemm

import "ptc/backend/kernel"

// blocking is how a product is cut, every size of it static:
//
//	           panels of nr columns, perBlockN of them in a task's block
//	          ┌────────┬────────┬───┐
//	tiles of  │        │        │   │   The first wide tiles have mr rows, the
//	mr, then  ├────────┼────────┼───┤   others mr-1: nearly equal, so that at
//	mr-1 rows │        │        │   │   most two register tiles exist. The last
//	          └────────┴────────┴───┘   panel has tailVecs vectors.
//
// K is cut into steps of kc, the last of which may be shorter.
type blocking struct {
	lanes       int64 // of a vector
	vecs, nr    int64 // vectors and columns of a panel
	panels      int64
	tailVecs    int64 // vectors of the last panel
	mr          int64 // rows of the largest tile
	tiles, wide int64 // tiles in M; how many of them have mr rows
	kc, steps   int64 // depth of one packed block; blocks in K
	outer       int64 // product of Spec.Outer
	group       int64 // panels of the right operand that are packed at a time
	perBlockM   int64 // tiles of a task
	perBlockN   int64 // panels of a task
	mostTiles   int64 // tiles and panels that a thread has at once
	mostPanels  int64
	blocksM     int64
	blocksN     int64
	fitTiles    int64   // packed tiles that there is room for at once
	fitSums     int64   // sums that may wait
	turns       turns   // which tasks a thread does at once
	accumulate  bool    // partial sums wait in scratch: more than one block of K
	direct      bool    // the right operand is loaded where it is used
	inPlace     bool    // the left one is
	lost        float64 // what the time beside multiply-adds is estimated at, in theirs
	by          by      // the instruction: see pairs.go
}

// line is the number of f32 in a cache line.
const line = 16

// newBlocking is how s is cut for m: by its blocks where it has some, and otherwise as
// the estimates of this file say.
func newBlocking(s *Spec, m kernel.Machine) (blocking, error) {
	if s.Blocks != nil {
		return given(s, m)
	}
	p := begin(s, m)
	vecs, rows := p.registerTile(s, m)
	p.shape(s, vecs, rows)
	p.cut(s, p.depth(s, m))
	p.panelsAtOnce(s, m)
	p.divide(s, m)
	return p, nil
}

// begin is a blocking of which is known what shape and operands say alone.
func begin(s *Spec, m kernel.Machine) blocking {
	p := blocking{lanes: int64(m.Lanes(kernel.F32)), outer: product(s.Outer), fitSums: int64(m.L2) / 2}
	few := s.M <= fewRows/2 || s.M <= fewRows && s.Right.Cost == 0
	p.direct = few && s.Right.Unit == AlongN && (m.Masked || s.N%p.lanes == 0)
	p.by = instruction(s, m)
	if p.direct {
		p.by = multiplyAdds
	}
	return p
}

// fewPanels is how many panels a product may have for its left operand to be loaded
// where it is used: so few uses do not pay for packing it.
const fewPanels = 32

// fewRows is how many rows a product may have for its right operand to be loaded
// where it is used rather than packed; half as many if more than a load is done
// again for each tile.
const fewRows = 16

// registerTile chooses the tile that lives in registers: mr·vecs accumulators,
// vecs vectors of the right operand and what else a step needs. It returns vecs and the
// most rows that there is room for. Two vectors need more loads than four where both have
// the same number of sums, and fewer stores while the left operand is packed: they are
// for few columns, long vectors and few rows, and for pairs of bf16, compared with which packing
// weighs twice as much.
func (p *blocking) registerTile(s *Spec, m kernel.Machine) (vecs, rows int64) {
	vecs = 2
	switch p.by {
	case matrices:
		return p.matrixTile(s, m)
	case tiles:
		return min(tileVecs, ceil(s.N, p.lanes)), tileSize
	}
	if m.Registers >= 32 && (p.lanes <= 4 || p.by == multiplyAdds && s.M > mostRows && s.N >= 6*4*p.lanes) {
		vecs = 4
	}
	if p.direct {
		vecs = max(vecs, min(8, (int64(m.Registers)-3)/(s.M+1)))
	}
	vecs = min(vecs, ceil(s.N, p.lanes))
	spare := vecs + 2 // the right operand, one element of the left, and one more
	if !m.FMA {
		spare++ // the product
	}
	return vecs, min(mostRows, max(1, (int64(m.Registers)-spare)/vecs))
}

// mostRows is how many rows a register tile has at most.
const mostRows = 16

// shape cuts the rows into tiles of at most so many, and the columns into panels of
// vecs vectors.
func (p *blocking) shape(s *Spec, vecs, rows int64) {
	p.vecs, p.nr = vecs, vecs*p.lanes
	p.panels = ceil(s.N, p.nr)
	p.tailVecs = ceil(s.N-(p.panels-1)*p.nr, p.lanes)
	p.tiles = ceil(s.M, rows)
	p.mr = ceil(s.M, p.tiles)
	if p.by == tiles { // whole registers, the last tile but for its last rows
		p.mr, p.wide = min(rows, ceil(s.M, kernel.TileRows)*kernel.TileRows), p.tiles
		return
	}
	p.wide = s.M - p.tiles*(p.mr-1)
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
func (p *blocking) depth(s *Spec, m kernel.Machine) int64 {
	if p.direct {
		return shallow / min(2, max(1, s.M/4))
	}
	unit := p.unit()
	if p.by == tiles {
		return p.tileDepth(s, m)
	}
	most := int64(m.L1) / (4 * p.rightStep()) / unit * unit
	return min(max(most, 2*unit), deepest*min(2, p.step())/unit*unit)
}

// unit is what the depth of a block is a multiple of, where there are several.
func (p *blocking) unit() int64 {
	if p.direct {
		return p.lanes
	}
	return max(p.lanes, line, p.deep())
}

// cut cuts K into nearly equal blocks of at most so many steps.
func (p *blocking) cut(s *Spec, most int64) {
	p.steps = ceil(s.K, most)
	p.kc = s.K
	if p.steps > 1 {
		p.kc = ceil(ceil(s.K, p.steps), p.unit()) * p.unit()
		p.steps = ceil(s.K, p.kc)
	}
	p.kc = ceil(p.kc, p.deep()) * p.deep()
	p.accumulate = p.steps*product(s.OuterK) > 1
}

// panelsAtOnce chooses how many panels are packed at a time: those of half of L2. Panels
// that fit are all there when a tile's turn comes, so that it need not be packed for a few.
func (p *blocking) panelsAtOnce(s *Spec, m kernel.Machine) {
	p.group = max(1, int64(m.L2)/2/(4*p.kc*p.rightStep()))
	// The packed tiles of a task live in L2, and sums that wait beside or behind
	// them. Both are read in order, tiles once for every panel, sums once for every
	// block of K, so that what does not fit comes in time from L3.
	p.fitTiles = max(1, int64(m.L2)*3/8/p.slotStride())
	if p.by == tiles {
		p.tilesAtOnce(m)
	}
	p.inPlace = p.by == multiplyAdds && s.Left.Unit == AlongK && s.Left.Cost == 0 && p.panels <= min(p.group, fewPanels)
}

// A task has at least minWork multiply-adds, if there is another way: those of some
// 20 µs, compared with which claiming and waiting for a task is little. It has more than
// maxWork only if there are manyTasks already.
const (
	minWork   = 1 << 19
	maxWork   = 1 << 26
	manyTasks = 16
)

// divide chooses what a task computes: the part of M and N that costs least.
func (p *blocking) divide(s *Spec, m kernel.Machine) {
	best := part{cost: -1}
	for _, x := range p.parts(s, m) {
		if best.cost < 0 || x.cost < best.cost {
			best = x
		}
	}
	p.take(best)
	p.lost = best.cost
}

// part is a task's: tiles and panels, what of them is done at once, and what it is expected
// to cost.
type part struct {
	tiles, panels int64
	turns         turns
	cost          float64
}

func (p *blocking) take(x part) {
	p.perBlockM, p.perBlockN, p.turns = x.tiles, x.panels, x.turns
	p.blocksM, p.blocksN = ceil(p.tiles, x.tiles), ceil(p.panels, x.panels)
	p.group = min(p.perBlockN, p.group)
	p.mostTiles, p.mostPanels = p.largest(x, x.turns)
}

// parts lists what a task may compute, of which what is packed and added up fits the
// caches.
func (p *blocking) parts(s *Spec, m kernel.Machine) []part {
	work := float64(s.M) * float64(s.N) * float64(s.K) * float64(product(s.OuterK))
	most := int64(max(1, work/minWork))
	many := int64(manyTasks)
	if p.by == tiles { // which are done sooner, so that packing once more for each task weighs more
		most, many = int64(max(1, work/(minWork*p.gain()))), manyTasks/2
	}
	least := int64(min(float64(ceil(many, p.outer)), work/maxWork))
	var out []part
	best := -1.0
	for _, perM := range shares(p.tiles, p.fitTiles) {
		fit := p.panels
		if p.accumulate {
			fit = max(1, p.fitSums/(p.mr*p.nr*perM))
		}
		for _, perN := range shares(p.panels, fit) {
			x := p.priced(s, part{tiles: perM, panels: perN}, least, most, best)
			if best < 0 || x.cost < best {
				best = x.cost
			}
			out = append(out, x)
		}
	}
	return out
}

// shares lists the sizes of the parts that n things can be cut into, none larger
// than most: the largest first.
func shares(n, most int64) []int64 {
	var out []int64
	for cuts := ceil(n, min(n, most)); cuts <= n; {
		each := ceil(n, cuts)
		out = append(out, each)
		if each == 1 {
			break
		}
		cuts = ceil(n, each-1)
	}
	return out
}

// Multiply-adds that packing one element takes the time of, besides computing it, where a vector has at most
// 8; longer ones multiply more in that time, and move no more. The right operand is read in rows that are far
// apart; the left one is read once for many panels.
const (
	packRightCost = 12
	packLeftCost  = 8
)

// narrowCost is what each row of a right operand that is read in place costs
// next to its elements.
const narrowCost = 32

// teamSizes are the numbers of threads that a product is cut for. How many there
// will be is not known; each counts half as much as the one before it.
var teamSizes = []int64{2, 4, 8, 16}

// priced is x with what it costs, the time lost as a share of the multiply-adds: what is packed
// for each turn, in rows of tasks along N or M, whichever takes less, along M where that is the same, as threads then
// read the same columns at a time; and threads that idle at
// the end of the launch. Fewer than least blocks or more than most are taken only if there is no
// other way. What costs more than twice best, if that is not negative, is not looked at closely.
func (p *blocking) priced(s *Spec, x part, least, most int64, best float64) part {
	wide := max(1, float64(p.lanes)/8)
	right, left := packRightCost*wide+float64(s.Right.Cost), packLeftCost*wide+float64(s.Left.Cost)
	right, left = right*p.gain(), left*p.gain()
	cut := ceil(p.tiles, x.tiles) * ceil(p.panels, x.panels)
	c := 100 * float64(max(0, least-cut, cut-most))
	for _, team := range teamSizes {
		used := float64(p.tiles*p.panels*p.outer) / float64(ceil(cut*p.outer, team)*team*x.tiles*x.panels)
		c += (1 - min(1, used)) / float64(team)
	}
	if p.direct {
		c += right*(1-float64(x.tiles)/float64(p.tiles)) + narrowCost/float64(x.panels*p.nr)
		right = 0
	}
	if p.inPlace {
		left = 0
	}
	for _, down := range []bool{true, false} {
		t := p.turnsOf(x, down)
		pack := 0.0
		if at := c + left/float64(p.panels*p.nr) + right/float64(p.tiles*p.mr); best >= 0 && at > 2*best {
			pack = at // it would be more
		} else {
			weights := 0.0
			for _, team := range teamSizes {
				pack += p.packing(x, t, team, left, right) / float64(team)
				weights += 1 / float64(team)
			}
			pack = c + pack/weights
		}
		if down || pack < x.cost {
			x.turns, x.cost = t, pack
		}
	}
	return x
}

// slotStride is the distance in f32 between packed tiles of the left operand:
// more than a tile takes, as its last vector may reach past it.
func (p *blocking) slotStride() int64 {
	return ceil(ceil(p.kc, p.lanes)*p.lanes*p.leftStep(), line)*line + max(p.lanes, line)
}

// rowStride is the distance in f32 between the rows of a staged tile: an odd
// number of cache lines (or of vectors, if those are longer), so that they spread
// over the sets of L1.
func (p *blocking) rowStride() int64 {
	unit := max(p.lanes, line)
	return (ceil(p.kc, unit) | 1) * unit
}

func ceil(a, b int64) int64 { return (a + b - 1) / b }

func product(sizes []int64) int64 {
	n := int64(1)
	for _, s := range sizes {
		n *= s
	}
	return n
}
