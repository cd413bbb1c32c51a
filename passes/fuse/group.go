package fuse

import (
	"fmt"
	"sort"
	"strings"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// space is a set of sized axes in canonical text: "batch=8,seq=4,".
type space string

func spaceOf(axes []ir.Axis) space {
	s := make([]string, len(axes))
	for i, a := range axes {
		s[i] = fmt.Sprintf("%s=%d,", a.Name, a.Size)
	}
	sort.Strings(s)
	return space(strings.Join(s, ""))
}

// in reports whether every axis of s is in t.
func (s space) in(t space) bool {
	for _, a := range strings.SplitAfter(string(s), ",") {
		if !strings.Contains(","+string(t), ","+a) {
			return false
		}
	}
	return true
}

// exchange is the class of a collective, which is a group of its own and stays
// as it is.
const exchange fusion.Class = "exchange"

// group walks the program and forms groups.
func (p *program) group() {
	for _, o := range p.f.Ops {
		if p.free[o] || len(o.Results) == 1 && p.views[o.Result()] != nil {
			continue
		}
		g := p.newGroup(o)
		for _, in := range p.producers(o) {
			if from := p.of[in]; from != nil && from != g && p.mayMerge(from, g) {
				g = p.merge(from, g)
			}
		}
	}
}

func (p *program) newGroup(o *ir.Op) *group {
	g := &group{id: len(p.groups), ops: []*ir.Op{o}, last: p.index[o], latest: p.index[o]}
	g.class, g.segment, g.late = fusion.Map, p.segment[o], p.late[o]
	if len(o.Results) > 0 {
		g.space = spaceOf(o.Results[0].Type.Axes)
	}
	switch op.Of(o).Class {
	case op.Contraction:
		g.class, g.root = fusion.Gemm, o
	case op.Collective:
		g.class, g.root = exchange, o
	case op.Movement:
		g.class, g.root = fusion.Pieces, o
	case op.Indexed:
		if o.Name == op.ScatterAdd {
			g.class, g.root = fusion.Scatter, o
		}
	case op.Reduction:
		in := o.Args[0].Type
		g.root, g.kept, g.space = o, g.space, spaceOf(in.Axes)
		g.class = fusion.Column
		for _, n := range o.Attrs.Names("over") {
			if in.Axes[len(in.Axes)-1].Name == n {
				g.class = fusion.Row
			}
		}
	}
	p.groups = append(p.groups, g)
	p.of[o] = g
	return g
}

// producers lists the operations that o's operands come from, through views,
// the largest operand first; latest first among equals, as it is the likeliest
// to be the main one.
func (p *program) producers(o *ir.Op) []*ir.Op {
	var out []*ir.Op
	for _, a := range o.Args {
		if d := p.stored(a).Def; d != nil && !p.free[d] {
			out = append(out, d)
		}
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i].Results[0].Type.Elems(), out[j].Results[0].Type.Elems()
		if a != b {
			return a > b
		}
		return p.index[out[i]] > p.index[out[j]]
	})
	return out
}

// reader is an operation that reads a value, perhaps through views.
type reader struct {
	o      *ir.Op
	arg    int
	byName bool // only views that keep names and sizes lie between
}

// readers lists the non-view readers of v, once: a value that every parameter's
// update reads would else be looked through for each of them again.
func (p *program) readers(v *ir.Value) []reader {
	out, known := p.read[v]
	if known {
		return out
	}
	var walk func(v *ir.Value, byName bool)
	walk = func(v *ir.Value, byName bool) {
		for _, o := range p.users[v] {
			if len(o.Results) == 1 && p.views[o.Result()] != nil {
				walk(o.Result(), byName && op.Has(o, op.ByName))
				continue
			}
			for i, a := range o.Args {
				if a == v {
					out = append(out, reader{o, i, byName})
				}
			}
		}
	}
	walk(v, true)
	p.read[v] = out
	return out
}

// merge moves a's operations into b.
func (p *program) merge(a, b *group) *group {
	for _, o := range a.ops {
		p.of[o] = b
	}
	b.class, b.space, b.kept, b.root = merged(a, b)
	b.ops = append(b.ops, a.ops...)
	sort.Slice(b.ops, func(i, j int) bool { return p.index[b.ops[i]] < p.index[b.ops[j]] })
	b.last = max(a.last, b.last)
	a.ops = nil
	latest := max(a.latest, b.latest)
	b.latest = -1
	p.depend(b, latest)
	return b
}

// depend notes that g depends on an operation with program index at, and with
// it every group that reads g.
func (p *program) depend(g *group, at int) {
	if g.latest >= at {
		return
	}
	g.latest = at
	for _, o := range g.ops {
		for _, v := range o.Results {
			for _, r := range p.readers(v) {
				if to := p.of[r.o]; to != nil {
					p.depend(to, at)
				}
			}
		}
	}
}

// merged is the shape of the union: the group with a root decides, and of two
// maps the larger space.
func merged(a, b *group) (fusion.Class, space, space, *ir.Op) {
	switch {
	case b.root != nil:
		return b.class, b.space, b.kept, b.root
	case a.root != nil:
		return a.class, a.space, a.kept, a.root
	case b.space.in(a.space):
		return a.class, a.space, a.kept, a.root
	}
	return b.class, b.space, b.kept, b.root
}

// outsidePath reports whether some path leads from a through a third group
// into b: then the union would have to run both before and after it. A group
// that depends on a depends on all that a does, so that its latest index is
// not below a's.
func (p *program) outsidePath(a, b *group) bool {
	seen := map[*group]bool{a: true, b: true}
	var reaches func(g *group) bool // whether g depends on a
	reaches = func(g *group) bool {
		for _, o := range g.ops {
			for _, v := range o.Args {
				d := p.stored(v).Def
				if d == nil || p.free[d] {
					continue
				}
				from := p.of[d]
				if from == a && g != b {
					return true
				}
				if from == nil || seen[from] || from.latest < a.latest {
					continue
				}
				seen[from] = true
				if reaches(from) {
					return true
				}
			}
		}
		return false
	}
	return reaches(b)
}
