package gemm

import "ptc/backend/kernel"

// blocking is how a product is cut into tasks, after registers ([tiling]) and caches ([caching]).
type blocking struct {
	caching
	part
	blocksM, blocksN      int64 // tasks along M and N
	group                 int64 // panels of the right operand that are packed at a time
	mostTiles, mostPanels int64 // tiles and panels that a thread has at once
}

// newBlocking is how s is cut for m: by its blocks where it has some, and otherwise as
// the estimates of this package say.
func newBlocking(s *Spec, m kernel.Machine) (blocking, error) {
	if s.Blocks != nil {
		return given(s, m)
	}
	t := newTiling(s, m)
	return newCaching(s, m, t, t.depth(s, m)).divide(s), nil
}

// part is the share of a task: tiles and panels, which tasks are a batch, and the estimated time for everything
// but multiply-adds, as a share of theirs.
type part struct {
	perBlockM, perBlockN int64 // tiles and panels of a task
	batch                batch
	cost                 float64
}

// A task has at least minWork multiply-adds, if there is another way: those of some
// 20 µs, compared with which claiming and waiting for a task is little. It has more than
// maxWork only if there are manyTasks already.
const (
	minWork   = 1 << 19
	maxWork   = 1 << 26
	manyTasks = 16
)

// divide cuts M and N into the tasks that cost least.
func (c caching) divide(s *Spec) blocking {
	best := part{cost: -1}
	for _, x := range c.parts(s) {
		if best.cost < 0 || x.cost < best.cost {
			best = x
		}
	}
	return c.divided(best)
}

// divided is c with tasks of part x.
func (c caching) divided(x part) blocking {
	p := blocking{caching: c, part: x, group: min(x.perBlockN, c.fitPanels)}
	p.blocksM, p.blocksN = c.cuts(x)
	p.mostTiles, p.mostPanels = c.largest(x)
	return p
}

// cuts is how many tasks of part x there are along M and N.
func (c *caching) cuts(x part) (m, n int64) {
	return ceil(c.tiles, x.perBlockM), ceil(c.panels, x.perBlockN)
}

// parts lists the shares that a task may compute: their packed operands and sums fit the caches.
func (c *caching) parts(s *Spec) []part {
	work := float64(s.M) * float64(s.N) * float64(s.K) * float64(product(s.OuterK))
	most := int64(max(1, work/minWork))
	many := int64(manyTasks)
	if c.by == tiles { // which are done sooner, so that packing once more for each task weighs more
		most, many = int64(max(1, work/(minWork*c.by.gain()))), manyTasks/2
	}
	least := int64(min(float64(ceil(many, product(s.Outer))), work/maxWork))
	var out []part
	best := -1.0
	for _, perM := range shares(c.tiles, c.fitTiles) {
		fit := c.panels
		if c.accumulate {
			fit = max(1, c.fitSums/(c.mr*c.nr*perM))
		}
		for _, perN := range shares(c.panels, fit) {
			x := c.priced(s, part{perBlockM: perM, perBlockN: perN}, least, most, best)
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
// for each batch, in rows of tasks along N or M, whichever takes less, along M where that is the same, as threads then
// read the same columns at a time; and threads that idle at
// the end of the launch. Fewer than least blocks or more than most are taken only if there is no
// other way. What costs more than twice best, if that is not negative, is not looked at closely.
func (c *caching) priced(s *Spec, x part, least, most int64, best float64) part {
	wide := max(1, float64(c.lanes)/8)
	right, left := packRightCost*wide+float64(s.Right.Cost), packLeftCost*wide+float64(s.Left.Cost)
	right, left = right*c.by.gain(), left*c.by.gain()
	outer := product(s.Outer)
	cutM, cutN := c.cuts(x)
	cut := cutM * cutN
	lost := 100 * float64(max(0, least-cut, cut-most))
	for _, team := range teamSizes {
		used := float64(c.tiles*c.panels*outer) / float64(ceil(cut*outer, team)*team*x.perBlockM*x.perBlockN)
		lost += (1 - min(1, used)) / float64(team)
	}
	if c.direct {
		lost += right*(1-float64(x.perBlockM)/float64(c.tiles)) + narrowCost/float64(x.perBlockN*c.nr)
		right = 0
	}
	if c.inPlace {
		left = 0
	}
	for _, down := range []bool{true, false} {
		y := x
		y.batch = c.batchOf(x, down)
		pack := 0.0
		if at := lost + left/float64(c.panels*c.nr) + right/float64(c.tiles*c.mr); best >= 0 && at > 2*best {
			pack = at // it would be more
		} else {
			weights := 0.0
			for _, team := range teamSizes {
				pack += c.packing(y, outer, team, left, right) / float64(team)
				weights += 1 / float64(team)
			}
			pack = lost + pack/weights
		}
		if down || pack < x.cost {
			x.batch, x.cost = y.batch, pack
		}
	}
	return x
}
