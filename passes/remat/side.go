package remat

import (
	"cmp"
	"slices"

	"ptc/ir"
)

// side is the search of one device. It looks for the most bytes, by the count, of which
// the plan fits, from both ends; then among written rules.
type side struct {
	s       *Search
	d       int
	dev     *device
	limit   int64 // what there is
	guess   int64 // bytes for activations, before anything was tried
	tried   []*pick
	written []*pick // not tried, those that need least by the count first
	asked   bool    // for written
	best    *pick   // that fits, with the least work
	from    *pick   // the written rule that was gone on from
	// fitting is the most that is known to fit, by the count, failing the least that is
	// known not to; 0 where nothing is.
	fitting, failing int64
	counted          bool  // nothing more is to be found by the count
	little           int64 // flops that are not worth a trial of a large program
}

// side begins the search of device d.
func (s *Search) side(d int, dev *device) *side {
	x := &side{s: s, d: d, dev: dev, limit: s.memory, guess: 1 << 61}
	arguments, gradients := s.of.l.persistent(s.of.b.device, d)
	work := s.of.l.backward(s.of.b.device, d)
	if s.memory > 0 {
		x.guess = s.memory - arguments - gradients - work
	}
	if b := s.rule.budget; b > 0 {
		x.guess = min(x.guess, b-gradients-work)
		x.limit = b
	}
	if len(dev.units) == 0 {
		x.tried, x.counted, x.asked = []*pick{{by: byCount}}, true, true
		return x
	}
	for _, u := range dev.units {
		for _, r := range u.regions {
			if s.least < thorough {
				x.little += r.flops() * int64(u.count) / 1000
			}
		}
	}
	return x
}

// byCount is what a choice is called that no written rule says.
const byCount = "`recompute auto`"

// next is what to try next on the device, or nil.
func (x *side) next() *pick {
	if p := x.nothing(); p != nil {
		return x.add(p)
	}
	for !x.counted {
		plan, ok := x.dev.choose(x.aim())
		if !ok {
			plan = x.dev.least()
		}
		if known := x.known(plan); known != nil {
			if x.counted = known.fits() || !ok || x.narrow(); x.counted {
				break
			}
			x.failing = min(x.failing, known.plan.peak)
			continue
		}
		if x.best != nil && plan.flops+x.little >= x.best.plan.flops {
			break
		}
		return x.add(&pick{by: byCount, plan: plan})
	}
	x.counted = true
	if p := x.beyond(); p != nil {
		return x.add(p)
	}
	if at := x.promising(); at >= 0 {
		p := x.written[at]
		x.written = slices.Delete(x.written, at, at+1)
		return x.add(p)
	}
	return nil
}

// beyond is the choice by the count of all that the best written rule takes and leaves, or
// nil: where the count is wrong about what needs least, it may be right from there.
func (x *side) beyond() *pick {
	b := x.best
	if b == nil || b.again == nil || x.from == b {
		return nil
	}
	x.from = b
	plan, ok := x.dev.choose(b.plan.peak - b.excess - x.limit>>9)
	if !ok || plan.flops+x.little >= b.plan.flops || x.known(plan) != nil {
		return nil
	}
	return &pick{by: byCount, plan: plan}
}

// promising is the number of the written rule to try next, or -1: while nothing fits the
// one that needs least by the count, and so the first time, as the count may be wrong about
// written rules in another way than about what was tried; then the one with the least work
// of those that would not need much more than there is.
func (x *side) promising() int {
	if x.best == nil {
		return min(len(x.rules()), 1) - 1
	}
	at := -1
	if x.best.plan.flops <= x.little {
		return at
	}
	known := slices.ContainsFunc(x.tried, isWritten)
	for i, p := range x.rules() {
		if p.work+float64(x.little) >= x.best.work {
			continue
		}
		if !known {
			return i
		}
		if x.expects(p) < x.limit>>2 && (at < 0 || p.work < x.written[at].work) {
			at = i
		}
	}
	return at
}

// expects is how much more than there is p needs, by the count and by the nearest to it of
// what was tried: of written rules, if one was. Instances that differ leave their stack,
// which may take more than the count knows.
func (x *side) expects(p *pick) int64 {
	tried := slices.Clone(x.tried)
	if slices.ContainsFunc(tried, isWritten) {
		tried = slices.DeleteFunc(tried, func(q *pick) bool { return !isWritten(q) })
	}
	apart := func(q *pick) int64 { return max(q.plan.peak-p.plan.peak, p.plan.peak-q.plan.peak) }
	q := slices.MinFunc(tried, func(a, b *pick) int { return cmp.Compare(apart(a), apart(b)) })
	return p.plan.peak - q.plan.peak + q.excess
}

func isWritten(p *pick) bool { return p.again != nil }

// rules is what rules that a user could write do on the device, and were not tried.
func (x *side) rules() []*pick {
	if x.asked {
		return x.written
	}
	x.asked = true
	for _, w := range x.s.written() {
		x.written = append(x.written, x.s.pickOf(x.d, x.dev, w))
	}
	slices.SortStableFunc(x.written, func(a, b *pick) int { return cmp.Compare(a.plan.peak, b.plan.peak) })
	return x.written
}

// nothing is the rule that rematerializes nothing, where that seems to fit by what was tried, or nil. Little work, or none by the count,
// is no reason to be content with less than that: collectives and messages between stages may be repeated.
func (x *side) nothing() *pick {
	if len(x.tried) == 0 || x.best != nil && x.keepsAll(x.best) {
		return nil
	}
	room := x.limit >> 4
	if x.best != nil && x.best.plan.flops <= x.little {
		room = 0
	}
	at := slices.IndexFunc(x.rules(), func(p *pick) bool { return p.work == 0 })
	if at < 0 || x.expects(x.written[at]) > room {
		return nil
	}
	p := x.written[at]
	x.written = slices.Delete(x.written, at, at+1)
	return p
}

// keepsAll reports whether p rematerializes nothing but what the layout's other rules say, or adds no work to that.
func (x *side) keepsAll(p *pick) bool {
	if p.again != nil {
		return p.work == 0
	}
	all := true
	for i := range x.dev.units {
		u := &x.dev.units[i]
		for _, k := range p.plan.picks[i] {
			for n, r := range u.regions {
				r.redone(u.option(n, k), func(*ir.Op) { all = false })
			}
		}
	}
	return all
}

func (x *side) add(p *pick) *pick {
	x.tried = append(x.tried, p)
	return p
}

// aim is the budget by the count that is tried next.
func (x *side) aim() int64 {
	if len(x.tried) == 0 {
		return max(0, x.guess)
	}
	last := x.tried[len(x.tried)-1]
	room := last.plan.peak - last.excess - x.limit>>9
	switch {
	case x.failing > 0 && (room >= x.failing || room <= x.fitting):
		room = (x.fitting + x.failing) / 2
	case room <= x.fitting:
		room = x.fitting + 1
	}
	return max(0, room)
}

// narrow reports whether the ends are so near that nothing is to be found between them.
func (x *side) narrow() bool {
	return x.failing > 0 && x.failing-x.fitting <= 1+x.limit>>10
}

// known is the pick of this plan that was tried, or nil.
func (x *side) known(p plan) *pick {
	for _, y := range x.tried {
		if y.again == nil && slices.EqualFunc(y.plan.picks, p.picks, slices.Equal[[]int]) {
			return y
		}
	}
	return nil
}

// took notes what p takes.
func (x *side) took(p *pick) {
	if p.fits() && (x.best == nil || p.work < x.best.work || p.work == x.best.work && x.keepsAll(p)) {
		x.best = p
	}
	x.counted = x.counted || p.fits() && p.work == 0
	if p.again != nil || x.counted {
		return
	}
	switch {
	case !p.fits():
		if x.failing == 0 || p.plan.peak < x.failing {
			x.failing = p.plan.peak
		}
	case p.plan.peak > x.fitting:
		x.fitting = p.plan.peak
	}
	x.counted = p.fits() && p.plan.flops <= x.little || x.narrow()
}

// standing is what the device does if nothing better is found.
func (x *side) standing() *pick {
	if x.best != nil {
		return x.best
	}
	return slices.MinFunc(x.tried, func(a, b *pick) int { return cmp.Compare(a.excess, b.excess) })
}

// counts reports whether activations alone, as they are counted, are within a budget.
func (x *side) counts(budget int64) bool {
	return slices.ContainsFunc(x.tried, func(p *pick) bool { return p.plan.peak <= budget })
}
