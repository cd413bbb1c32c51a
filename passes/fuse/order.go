package fuse

import (
	"cmp"
	"slices"

	"ptc/ir"
)

// readiness says when groups may run: 1 + the index of the group's first operation, or of the
// first late one if the group is late; at least that of all groups that it needs. All groups of
// a run are ready at once, behind whatever any of them needs from outside; within orders them.
type readiness struct {
	p             *storage
	live          []*group
	inputs        map[*group][]*group
	ready, within map[*group]int
	runs          map[int][]*group // by the start of the run
	whole         map[int]int      // when a run is ready
	circle        bool             // groups depend on each other in one
}

func newReadiness(p *storage) *readiness {
	live := p.groups.live()
	r := &readiness{p, live, map[*group][]*group{}, map[*group]int{}, map[*group]int{}, map[int][]*group{}, map[int]int{}, false}
	for _, g := range live {
		r.inputs[g] = p.groups.inputs(g, p.again)
		if g.stack != nil {
			r.runs[g.run] = append(r.runs[g.run], g)
		}
	}
	for _, g := range live {
		r.ready[g] = r.visit(g)
	}
	for _, g := range live {
		if !r.circle {
			r.inside(g)
		}
	}
	return r
}

func (r *readiness) visit(g *group) int {
	if g.stack != nil {
		return r.run(g.run)
	}
	switch at := r.ready[g]; {
	case at < 0:
		r.circle = true
		return 0
	case at > 0:
		return at
	}
	r.ready[g] = -1
	at := 1 + r.p.in.ops[r.p.in.first(g)].index
	for _, from := range r.inputs[g] {
		at = max(at, r.visit(from))
	}
	r.ready[g] = at
	return at
}

// first is g's first operation; of a group that is late the first that is.
func (p *facts) first(g *group) *ir.Op {
	if g.late {
		for _, o := range g.ops {
			if p.ops[o].late {
				return o
			}
		}
	}
	return g.ops[0]
}

func (r *readiness) run(start int) int {
	switch at := r.whole[start]; {
	case at < 0:
		r.circle = true
		return 0
	case at > 0:
		return at
	}
	r.whole[start] = -1
	at := 1 + start
	for _, g := range r.runs[start] {
		for _, from := range r.inputs[g] {
			if from.stack == nil || from.run != start {
				at = max(at, 1+r.visit(from))
			}
		}
	}
	r.whole[start] = at
	return at
}

// inside is when g is ready among those of its run.
func (r *readiness) inside(g *group) int {
	if at := r.within[g]; at > 0 {
		return at
	}
	at := 1 + r.p.in.ops[r.p.in.first(g)].index
	for _, from := range r.inputs[g] {
		if g.stack != nil && from.stack != nil && from.run == g.run && from != g {
			at = max(at, r.inside(from))
		}
	}
	r.within[g] = at
	return at
}

// sorted orders the groups topologically; of those that may come next, the one
// whose first operation comes first in the program. A group is not put off to
// where its last operation stood: a gradient whose square the optimizer adds up
// would be computed after the whole backward pass, and all that it reads would
// have to be kept until then.
func (r *readiness) sorted() []*group {
	if r.circle {
		panic("fuse: groups depend on each other in a circle")
	}
	behind := func(g *group) int { // of those that are ready with a run, the run is in a row, and what may need it behind
		if g.stack != nil {
			return g.run
		}
		return len(r.p.in.f.Ops)
	}
	slices.SortFunc(r.live, func(a, b *group) int {
		return cmp.Or(cmp.Compare(r.ready[a], r.ready[b]), cmp.Compare(behind(a), behind(b)), cmp.Compare(r.within[a], r.within[b]), cmp.Compare(a.last, b.last))
	})
	var out []*group
	done := map[*group]bool{}
	var put func(g *group)
	put = func(g *group) {
		if done[g] {
			return
		}
		done[g] = true
		for _, from := range r.inputs[g] {
			put(from)
		}
		out = append(out, g)
	}
	for _, g := range r.live {
		put(g)
	}
	return out
}
