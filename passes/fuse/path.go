package fuse

import (
	"slices"

	"ptc/ir"
)

// ancestry is a tree over the operations, in which the parent of each is the last
// of those that it reads. Most of what an operation depends on is above it there,
// which takes a comparison to see: every operation has a number, and those below it
// the numbers that follow.
type ancestry struct{ number, below map[*ir.Op]int }

func newAncestry(p *facts) ancestry {
	n := len(p.f.Ops)
	parent, size := make([]int, n), make([]int, n)
	for i := n - 1; i >= 0; i-- {
		parent[i] = -1
		for _, v := range p.f.Ops[i].Args {
			if d := p.source(v); d != nil {
				parent[i] = max(parent[i], p.ops[d].index)
			}
		}
		if size[i]++; parent[i] >= 0 {
			size[parent[i]] += size[i]
		}
	}
	t := ancestry{make(map[*ir.Op]int, n), make(map[*ir.Op]int, n)}
	next := make([]int, n) // the number of the next operation below each
	top := 0
	for i, o := range p.f.Ops {
		from := &top
		if parent[i] >= 0 {
			from = &next[parent[i]]
		}
		t.number[o], t.below[o] = *from, size[i]
		*from, next[i] = *from+size[i], *from+1
	}
	return t
}

// of reports whether x is above y, or is y.
func (t ancestry) of(x, y *ir.Op) bool {
	n := t.number[y] - t.number[x]
	return 0 <= n && n < t.below[x]
}

// outsidePath reports whether some path leads from a through a third group
// into b: then the union would have to run both before and after it. between is the groups
// behind a in the sequence that b depends on, all of them if there is no such path.
//
// Groups without such a path mostly stand close to each other. Where there is one,
// it may lead from a forward operation through the loss to a backward one of
// the same layer, or from a gradient through the norm of all to its own update. So
// a search that does not end soon looks from the other side too: at what reads a,
// and what reads that. What it then comes to that is among those, or below them in
// the tree above, it need not follow through all layers.
func (p *grouping) outsidePath(a, b *group) (between []*group, found bool) {
	seen := map[*group]bool{a: true, b: true}
	var ahead following
	var reaches func(g *group) bool // whether g depends on a
	reaches = func(g *group) bool {
		for _, o := range g.ops {
			for _, v := range p.in.needs(o) {
				d := p.in.source(v)
				if d == nil {
					continue
				}
				from := p.of[d]
				if from == a && g != b {
					return true
				}
				if from == nil || seen[from] || from.rank < a.rank {
					continue
				}
				seen[from] = true
				between = append(between, from)
				if len(between) == soon {
					if ahead = p.ahead(a, b); slices.ContainsFunc(between, ahead.has) {
						return true
					}
				}
				if ahead.has(from) || slices.ContainsFunc(ahead.ops, func(x *ir.Op) bool { return p.above.of(x, d) }) || reaches(from) {
					return true
				}
			}
		}
		return false
	}
	found = reaches(b)
	return between, found
}

const (
	soon      = 4  // groups after which a search looks from the other side
	mostAhead = 16 // operations that it takes from there
	lookAhead = 64 // reads that it looks at for them
)

// following are groups that depend on one, and of each the operation that shows it.
type following struct {
	groups []*group
	ops    []*ir.Op
}

func (f following) has(g *group) bool { return slices.Contains(f.groups, g) }

// ahead are some groups that depend on a, the nearest first, and not by way of b.
func (p *grouping) ahead(a, b *group) (f following) {
	left := lookAhead
	look := func(g *group) {
		for _, o := range g.ops {
			for _, v := range o.Results {
				for _, r := range p.in.readers(v) {
					if left--; left < 0 || len(f.ops) == mostAhead {
						return
					}
					if to := p.of[r.o]; to != nil && to != a && to != b && !f.has(to) {
						f.groups, f.ops = append(f.groups, to), append(f.ops, r.o)
					}
				}
			}
		}
	}
	look(a)
	for i := 0; i < len(f.groups) && left > 0; i++ {
		look(f.groups[i])
	}
	return f
}
