package fuse

import (
	"fmt"
	"slices"
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
		if p.of[o] != nil {
			continue // of an attention
		}
		g, ops := (*group)(nil), []*ir.Op{o}
		if x := p.core[o]; x != nil {
			g = p.attention(x)
			ops = slices.Clone(g.ops)
		} else {
			g = p.newGroup(o)
		}
		for _, o := range ops {
			for _, in := range p.producers(o) {
				if from := p.of[in]; from != nil && from != g && p.mayMerge(from, g) {
					g = p.merge(from, g)
				}
			}
		}
	}
}

func (p *program) newGroup(o *ir.Op) *group {
	g := &group{id: len(p.groups), ops: []*ir.Op{o}, last: p.index[o]}
	g.class, g.segment, g.late = fusion.Map, p.segment[o], p.late[o]
	if o.Run != nil {
		g.stack, g.run, g.early = o.Run.Stack, p.time.start[o.Run], p.time.early[o]
	}
	if len(o.Results) > 0 {
		g.space = spaceOf(o.Results[0].Type.Axes)
	}
	switch op.Of(o).Class {
	case op.Contraction:
		g.class, g.root = fusion.Gemm, o
	case op.Collective, op.Boundary:
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
	g.cheap, g.ins = g.class != exchange && flopsPerElement(o) <= cheapFlops, 1+len(o.Args)
	for _, v := range o.Results {
		g.result = g.result || p.result[v]
		g.outside += len(p.readers(v))
	}
	g.outs = 1 + g.outside
	p.groups = append(p.groups, g)
	p.seq.push(g)
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

// merge makes one group of a and b, just after it was found that no path leads
// from one to the other outside. The smaller moves into the
// larger, so that however large groups grow, all merges together take n log n: the
// sum over all parameters is one group with operations of each of them.
func (p *program) merge(a, b *group) *group {
	class, space, kept, root := merged(a, b)
	last := max(a.last, b.last)
	run, _ := p.together(a, b)
	between := 0
	p.reads(a, b, func(*ir.Op, int, bool) bool { between++; return true })
	from, to := a, b
	if len(a.ops) > len(b.ops) {
		from, to = b, a
		a.id, b.id = b.id, a.id
		p.groups[a.id], p.groups[b.id] = a, b
	}
	for _, o := range from.ops {
		p.of[o] = to
	}
	p.seq.join(a, b, to, p.between, a.outside > between)
	to.ops = p.inOrder(a.ops, b.ops)
	to.class, to.space, to.kept, to.root, to.last = class, space, kept, root, last
	to.run, to.early = run, max(a.early, b.early)
	to.outside = a.outside + b.outside - between
	to.late = a.late || b.late
	to.result, to.cheap = a.result || b.result, a.cheap && b.cheap
	to.ins, to.outs = a.ins+b.ins, a.outs+b.outs
	from.ops = nil
	return to
}

// inOrder is the operations of two groups in program order.
func (p *program) inOrder(a, b []*ir.Op) []*ir.Op {
	if p.index[a[len(a)-1]] < p.index[b[0]] {
		return append(a, b...) // no copy where a has room
	}
	out := make([]*ir.Op, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if p.index[a[0]] < p.index[b[0]] {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// reads calls yield for every operand of b that is a value of a, until it says
// false, and reports whether it never did. It goes through what b reads or
// through who reads a, whatever is less: the values of a may have readers in
// every layer, and b may be the sum over all of them.
func (p *program) reads(a, b *group, yield func(o *ir.Op, arg int, byName bool) bool) bool {
	if b.ins <= a.outs {
		for _, o := range b.ops {
			for i, v := range o.Args {
				w, byName := v, true
				if x := p.views[v]; x != nil {
					w, byName = x.base, x.byName
				}
				if w.Def != nil && p.of[w.Def] == a && !yield(o, i, byName) {
					return false
				}
			}
		}
		return true
	}
	for _, o := range a.ops {
		for _, v := range o.Results {
			for _, r := range p.readers(v) {
				if p.of[r.o] == b && !yield(r.o, r.arg, r.byName) {
					return false
				}
			}
		}
	}
	return true
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
