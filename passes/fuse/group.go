package fuse

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/passes/pass"
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
	return !slices.ContainsFunc(strings.SplitAfter(string(s), ","), func(a string) bool {
		return !strings.Contains(","+string(t), ","+a)
	})
}

// exchange is the class of a collective, which is a group of its own and stays
// as it is.
const exchange fusion.Class = "exchange"

// shape is what decides which rule a group is under.
type shape struct {
	class fusion.Class
	space space  // iteration space; of the result for gemm, scatter, pieces; of the scores for attention
	kept  space  // row, column: the axes that remain
	root  *ir.Op // contraction (of attention the last), first reduction, scatter_add, concat, pad
}

// group is a set of operations that becomes one kernel.
type group struct {
	shape
	id   int      // its place in grouping.list
	ops  []*ir.Op // in program order
	last int      // program index of its last operation
	rank int64    // its place in the sequence, between two others
	prev *group
	next *group
	// What the rules ask of all operations: the number of reads by others, whether
	// a value is a result of the function, whether all work may be repeated; and how
	// long it takes to go through what they read, and through who reads them.
	outside int
	result  bool
	cheap   bool
	ins     int
	outs    int
	// segment is the stretch between messages that the group is in, of one task. Messages
	// keep their order, on which other stages rely, so no kernel may need what
	// comes after one and be needed before it.
	segment int
	// stack is that of which each instance has such a kernel, run the start of the run
	// in which it is done, and early that of the first one in which it can be.
	stack      *ir.Stack
	run, early int
	// late: rematerialized for the backward phase, or after such work. In a kernel
	// with what is early it would run in the forward phase, and its results would
	// be kept from there on: what rematerialization is to avoid.
	late bool
}

// subject is the operation that a group is named for.
func (g *group) subject() *ir.Op {
	if g.root != nil {
		return g.root
	}
	return g.ops[len(g.ops)-1]
}

// String is the group in a few words: its class, and the operation that it is named for.
func (g *group) String() string { return string(g.class) + " `" + g.subject().Name + "`" }

// grouping decides which operations become one kernel.
type grouping struct {
	in      *facts
	list    []*group // by creation; merged ones are empty
	of      map[*ir.Op]*group
	above   ancestry
	seq     sequence
	known   *likeness                            // of all functions
	ownRuns bool                                 // no group has operations of two runs
	join    func(producer, consumer *ir.Op) bool // pass.Target.Join
}

// newGrouping walks the program and forms groups.
func newGrouping(c *pass.Context, in *facts, known *likeness, ownRuns bool) *grouping {
	p := &grouping{in: in, of: make(map[*ir.Op]*group, len(in.f.Ops)), above: newAncestry(in), known: known, ownRuns: ownRuns, join: c.Target.Join}
	for _, o := range in.f.Ops {
		if in.ops[o].free || len(o.Results) == 1 && in.views[o.Result()] != nil || p.of[o] != nil { // of an attention
			continue
		}
		g, ops := (*group)(nil), []*ir.Op{o}
		if x := in.ops[o].core; x != nil {
			g = p.attention(x)
			ops = slices.Clone(g.ops)
		} else {
			g = p.newGroup(o)
		}
		for _, o := range ops {
			for _, d := range in.producers(o) {
				if from := p.of[d]; from != nil && from != g {
					if u, why := p.union(from, g); why == "" && c.May("join a producer to", o) {
						g = p.merge(from, g, u)
					}
				}
			}
		}
	}
	return p
}

// newGroup makes a group of o.
func (p *grouping) newGroup(o *ir.Op) *group {
	g := &group{id: len(p.list), ops: []*ir.Op{o}, last: p.in.ops[o].index}
	g.class, g.segment, g.late = fusion.Map, p.in.ops[o].segment, p.in.ops[o].late
	if o.Run != nil {
		g.stack, g.run, g.early = o.Run.Stack, p.in.time.start[o.Run], p.in.time.early[o]
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
		g.result = g.result || p.in.result[v]
		g.outside += len(p.in.readers(v))
	}
	g.outs = 1 + g.outside
	p.list = append(p.list, g)
	p.seq.push(g)
	p.of[o] = g
	return g
}

// merge makes one group of a and b, whose union is u. The smaller moves into the
// larger, so that however large groups grow, all merges take n log n: the
// sum over all parameters is one group with operations of each of them.
func (p *grouping) merge(a, b *group, u union) *group {
	shape, last := merged(a, b), max(a.last, b.last)
	between := 0
	p.reads(a, b, func(*ir.Op, int, bool) bool { between++; return true })
	from, to := a, b
	if len(a.ops) > len(b.ops) {
		from, to = b, a
		a.id, b.id = b.id, a.id
		p.list[a.id], p.list[b.id] = a, b
	}
	for _, o := range from.ops {
		p.of[o] = to
	}
	p.seq.join(a, b, to, u.between, a.outside > between)
	to.ops = p.in.inOrder(a.ops, b.ops)
	to.shape, to.last = shape, last
	to.run, to.early = u.run, max(a.early, b.early)
	to.outside = a.outside + b.outside - between
	to.late = a.late || b.late
	to.result, to.cheap = a.result || b.result, a.cheap && b.cheap
	to.ins, to.outs = a.ins+b.ins, a.outs+b.outs
	from.ops = nil
	return to
}

// reads calls yield for every operand of b that is a value of a, until it says
// false, and reports whether it never did. It goes through what b reads or
// through who reads a, whatever is less: the values of a may have readers in
// every layer, and b may be the sum over all of them.
func (p *grouping) reads(a, b *group, yield func(o *ir.Op, arg int, byName bool) bool) bool {
	if b.ins <= a.outs {
		for _, o := range b.ops {
			for i, v := range o.Args {
				w, byName := v, true
				if x := p.in.views[v]; x != nil {
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
			for _, r := range p.in.readers(v) {
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
func merged(a, b *group) shape {
	if b.root == nil && (a.root != nil || b.space.in(a.space)) {
		return a.shape
	}
	return b.shape
}
