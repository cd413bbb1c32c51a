package fuse

import "ptc/ir"

// readiness says when groups may run: 1 + the largest first operation of a group, of one
// that is late the first that is, and of all that it needs. All groups of a run are ready at once, behind whatever any of
// them needs from outside; within says in which order.
type readiness struct {
	p             *program
	inputs        map[*group][]*group
	ready, within map[*group]int
	runs          map[int][]*group // by the start of the run
	whole         map[int]int      // when a run is ready
	circle        bool             // groups depend on each other in one
}

func (p *program) readiness(live []*group) *readiness {
	r := &readiness{p, map[*group][]*group{}, map[*group]int{}, map[*group]int{}, map[int][]*group{}, map[int]int{}, false}
	for _, g := range live {
		r.inputs[g] = p.inputs(g)
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

// circles reports whether groups depend on each other in a circle, as runs do that wait
// for each other.
func (p *program) circles() bool {
	return len(p.time.start) > 0 && p.readiness(p.live()).circle
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
	at := 1 + r.p.index[r.p.first(g)]
	for _, from := range r.inputs[g] {
		at = max(at, r.visit(from))
	}
	r.ready[g] = at
	return at
}

// first is g's first operation; of a group that is late the first that is.
func (p *program) first(g *group) *ir.Op {
	if g.late {
		for _, o := range g.ops {
			if p.late[o] {
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
	at := 1 + r.p.index[r.p.first(g)]
	for _, from := range r.inputs[g] {
		if g.stack != nil && from.stack != nil && from.run == g.run && from != g {
			at = max(at, r.inside(from))
		}
	}
	r.within[g] = at
	return at
}
