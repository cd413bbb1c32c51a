package fuse

import (
	"slices"

	"ptc/ir"
)

// body is the operations of a kernel, the stored values that it reads, and
// those that it writes.
type body struct {
	ops       []*ir.Op
	ins, outs []*ir.Value
}

// body collects the operations that compute outs, those of other kernels' values that are
// computed again included. Each comes after its operands, in the order in which outs need
// them: the same structure gives the same order, wherever in the program it stands.
func (p *grouping) body(g *group, outs []*ir.Value, again map[*ir.Value]bool) body {
	b := body{outs: outs}
	need := make(map[*ir.Op]bool, 2*len(g.ops)) // with what is free
	read := make(map[*ir.Value]bool, len(g.ops))
	var add func(o *ir.Op)
	add = func(o *ir.Op) {
		if need[o] {
			return
		}
		need[o] = true
		for _, a := range o.Args {
			switch {
			case a.Def != nil && p.within(g, a, again):
				add(a.Def)
			case !read[a]:
				read[a] = true
				b.ins = append(b.ins, a)
			}
		}
		b.ops = append(b.ops, o)
	}
	for _, v := range outs {
		add(v.Def)
	}
	return b
}

// within reports whether g's kernel computes v itself.
func (p *grouping) within(g *group, v *ir.Value, again map[*ir.Value]bool) bool {
	d := v.Def
	return p.of[d] == g || p.in.ops[d].free || p.in.views[v] != nil || again[v]
}

// live are the groups that have operations, by creation.
func (p *grouping) live() (out []*group) {
	for _, g := range p.list {
		if len(g.ops) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// inputs lists the groups whose stored values g may read, also for the values that it
// computes again.
func (p *grouping) inputs(g *group, again map[*ir.Value]bool) []*group {
	var all []*ir.Value
	for _, o := range g.ops {
		all = append(all, o.Results...)
	}
	var out []*group
	ins := p.body(g, all, again).ins
	if g.class == exchange {
		ins = p.in.needs(g.root)
	}
	for _, v := range ins {
		if v.Def != nil && p.of[v.Def] != nil {
			out = append(out, p.of[v.Def])
		}
	}
	return out
}

// readOutside reports whether another group than g reads v.
func (p *grouping) readOutside(v *ir.Value, g *group) bool {
	return slices.ContainsFunc(p.in.readers(v), func(r reader) bool { return p.of[r.o] != g })
}

// wanted walks the groups from the last to the first and gives each the
// values that results or later groups read from memory, and the body that
// computes them.
func (p *storage) wanted(order []*group) map[*group]body {
	want := map[*ir.Value]bool{}
	for v := range p.in.result {
		want[v] = true
	}
	bodies := map[*group]body{}
	for i := len(order) - 1; i >= 0; i-- {
		g := order[i]
		if g.class == exchange {
			for _, v := range g.root.Args {
				want[v] = true
			}
			continue
		}
		var outs []*ir.Value
		for _, o := range g.ops {
			for _, v := range o.Results {
				if want[v] {
					outs = append(outs, v)
				}
			}
		}
		b := p.groups.body(g, outs, p.again)
		for _, v := range b.ins {
			want[v] = true
		}
		bodies[g] = b
	}
	return bodies
}
