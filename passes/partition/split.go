package partition

import "slices"

// plan is what brings a value into another sharding: mesh axes to write as several
// (refine.go), axes to split, the steps among what they are then, and the axes put
// together again.
//
// The shards of an axis over mesh axes x and y are numbered by x first. A step that
// shards it over y before x has to give each device the rows of all its places on
// x, which lie apart; of an axis that is split, by x and the rest, they do not:
//
//	a of 8, over (x = 2, y = 2)   →   a_x of 2, over x, times a of 4, over y
//
// So a sum over y can be scattered first and what is left exchanged over x, rather
// than everything exchanged. In memory, splitting moves nothing.
type plan struct {
	steps  []step
	of     *problem   // that they solve
	splits [][]int    // for each axis, by what its major parts are sharded; nil without any
	by     refinement // of the mesh axes; nil where all are whole
}

// sent is the bytes that a device sends, in the units of the problem: the same ones
// for all refinements and splits.
func (pl plan) sent() int64 { return pl.of.total(pl.steps).Sent }

// best is the plan that sends the least: over whole mesh axes, unless one of these
// refinements saves bytes, and without splits, unless they do.
// Banned kinds of collectives it leaves aside where the fixed order has none;
// otherwise the layout forbids what the reshard needs, and shall say so, in its own
// mesh axes: an all_reduce that is forbidden is not done as two others.
func (p *problem) best(tries []refinement) plan {
	if p.bans(p.fixed()) {
		all := *p
		all.banned = nil
		return all.best(nil)
	}
	out := plan{steps: p.plan(), of: p}
	out.orSplit(p, nil, maxSteps)
	for _, by := range tries {
		if out.sent() <= p.least(p.from) {
			break
		}
		q := p.refined(by)
		if steps := q.below(Cost{Sent: out.sent()}, maxRefinedWork); steps != nil {
			out = plan{steps: steps, of: q, by: by}
		}
		out.orSplit(q, by, maxRefinedWork)
	}
	return out
}

// orSplit is the plan with the axes of p split, if that saves bytes.
func (pl *plan) orSplit(p *problem, by refinement, work int) {
	if q, splits := p.split(); q != nil {
		if steps := q.below(Cost{Sent: pl.sent()}, work); steps != nil {
			*pl = plan{steps, q, splits, by}
		}
	}
}

// bans reports whether steps have a kind that is banned.
func (p *problem) bans(steps []step) bool {
	return slices.ContainsFunc(steps, func(st step) bool { return slices.Contains(p.banned, st.kind) })
}

// split is the same reshard with the axes split that are sharded over several mesh
// axes before or after; nil without any.
func (p *problem) split() (*problem, [][]int) {
	q := *p
	q.sizes, q.from.axes, q.to.axes = nil, nil, nil
	by := make([][]int, len(p.sizes))
	if p.solid {
		return nil, nil
	}
	for i, size := range p.sizes {
		from, to := p.from.axes[i], p.to.axes[i]
		for _, x := range [][]int{to, from} {
			if len(x) > 1 && by[i] == nil && p.fits(from, x) && p.fits(to, x) {
				by[i] = x[:len(x)-1]
			}
		}
		for _, m := range by[i] {
			var a, b []int
			a, from = p.take(from, p.mesh[m])
			b, to = p.take(to, p.mesh[m])
			q.sizes = append(q.sizes, p.mesh[m])
			q.from.axes, q.to.axes = append(q.from.axes, a), append(q.to.axes, b)
			size /= p.mesh[m]
		}
		q.sizes = append(q.sizes, size)
		q.from.axes, q.to.axes = append(q.from.axes, from), append(q.to.axes, to)
	}
	if len(q.sizes) == len(p.sizes) {
		return nil, nil
	}
	return &q, by
}

// take is the major mesh axes of list that shard a part of this size, and the rest.
func (p *problem) take(list []int, size int) (part, rest []int) {
	k, n := 0, 1
	for k < len(list) && n < size {
		n *= p.mesh[list[k]]
		k++
	}
	return list[:k:k], list[k:]
}

// fits reports whether a list of mesh axes shards an axis that is split by x: each
// major part wholly, or evenly and no part after it.
func (p *problem) fits(list, x []int) bool {
	for _, m := range x[:len(x)-1] {
		part, rest := p.take(list, p.mesh[m])
		n := int(p.parts(part))
		if n != p.mesh[m] && (len(rest) > 0 || p.mesh[m]%n != 0) {
			return false
		}
		list = rest
	}
	return true
}
