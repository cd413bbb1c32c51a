package fuse

import (
	"slices"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
)

// besideOps is of how many operations a value may be made of what the kernel reads
// that computes it again.
const besideOps = 8

// recomputeLater looks for values that a later run of a stack, or a later task, reads, or the
// backward phase of what the forward phase makes, so that they are kept in between, and that a kernel there could
// compute as well: one that reads already what they are made of, such as the gradient of
// an activation function, which has the function's argument. That kernel then has a result
// more, which lives for a moment, in the place of a value that is kept for the backward
// phase though another one says all of it: of a GPT's four times wider activations it keeps
// one and not two.
func (p *storage) recomputeLater() {
	for _, g := range slices.Clone(p.groups.list) {
		if g.class == exchange {
			continue
		}
		for _, o := range slices.Clone(g.ops) {
			if len(o.Results) != 1 || op.Of(o).Class != op.Elementwise {
				continue
			}
			if v := o.Result(); v.Type.Bytes() >= againBytes && !p.again[v] {
				for _, readers := range p.farReaders(v) {
					p.recomputeIn(v, readers)
				}
			}
		}
	}
}

// when is where a group is done: in a run of a stack, in a task; or, where it is in
// neither, before the loss or behind it.
type when struct {
	stack  *ir.Stack
	run    int
	task   *ir.Task
	behind bool
}

func (p *storage) when(g *group) when {
	w := when{stack: g.stack, run: g.run, task: g.ops[0].Task}
	if w.stack == nil && w.task == nil {
		at := g.last
		if g.root != nil { // work on its result may come later
			at = p.in.ops[g.root].index
		}
		w.behind = at > p.in.loss
	}
	return w
}

// farReaders are the readers of v in each other run and task than its own, where all of
// them read v itself.
func (p *storage) farReaders(v *ir.Value) (out [][]reader) {
	from, at := p.when(p.groups.of[v.Def]), map[when]int{}
	for _, r := range p.in.readers(v) {
		to := p.when(p.groups.of[r.o])
		if to == from || to.stack != from.stack {
			continue
		}
		i, ok := at[to]
		if !ok {
			i = len(out)
			at[to], out = i, append(out, nil)
		}
		out[i] = append(out[i], r)
	}
	return slices.DeleteFunc(out, func(rs []reader) bool {
		return slices.ContainsFunc(rs, func(r reader) bool { return r.o.Args[r.arg] != v || alone(r.o) })
	})
}

// recomputeIn has readers of v, all of one run and task, read what a kernel of theirs
// computes again, if there is one.
func (p *storage) recomputeIn(v *ir.Value, readers []reader) {
	at := p.groups.of[readers[0].o]
	for _, h := range p.groups.list {
		if len(h.ops) == 0 || h.class != fusion.Map && h.class != fusion.Gemm || h.space != spaceOf(v.Type.Axes) || p.when(h) != p.when(at) ||
			slices.ContainsFunc(readers, func(r reader) bool { return p.groups.of[r.o] == h || p.groups.of[r.o].segment < h.segment }) {
			continue
		}
		var path []*ir.Op
		if !p.madeOf(v, h, &path) || p.waitsFor(h, readers, map[*group]bool{}) || !p.c.May("compute again later", v.Def) {
			continue
		}
		w := p.copyInto(h, path)
		p.in.redirect(readers, v, w)
		delete(p.readBys, v)
		return
	}
}

// waitsFor reports whether h needs what a reader makes. It looks no further than the run
// and task of h: what is done there does not wait for others that wait for it.
func (p *storage) waitsFor(h *group, readers []reader, seen map[*group]bool) bool {
	for _, from := range p.groups.inputs(h, p.again) {
		if seen[from] || from == h || p.when(from) != p.when(h) {
			continue
		}
		seen[from] = true
		if slices.ContainsFunc(readers, func(r reader) bool { return p.groups.of[r.o] == from }) || p.waitsFor(from, readers, seen) {
			return true
		}
	}
	return false
}

// madeOf appends to path the operations, each after its operands, that compute v from
// what h reads.
func (p *storage) madeOf(v *ir.Value, h *group, path *[]*ir.Op) bool {
	o := v.Def
	if o == nil || slices.Contains(*path, o) {
		return o != nil
	}
	if len(o.Results) != 1 || op.Of(o).Class != op.Elementwise || len(*path) >= besideOps {
		return false
	}
	for _, a := range o.Args {
		free := a.Def != nil && p.in.ops[a.Def].free
		if !free && !(p.isStored(p.in.stored(a)) || p.again[a]) && a.Def != nil && p.groups.of[a.Def] == p.groups.of[o] {
			if !p.madeOf(a, h, path) {
				return false
			}
		} else if !free && !p.readBy(h, a) {
			return false
		}
	}
	*path = append(*path, o)
	return true
}

// copyInto gives h copies of operations, and returns the result of the last.
func (p *storage) copyInto(h *group, path []*ir.Op) *ir.Value {
	copies := map[*ir.Value]*ir.Value{}
	var last *ir.Value
	for _, o := range path {
		args := slices.Clone(o.Args)
		for i, a := range args {
			if c := copies[a]; c != nil {
				args[i] = c
			}
		}
		n := p.in.f.NewOp(o.Name, args, o.Attrs, o.Result().Type.Clone())
		n.Scope, n.Pos, n.Slot = o.Scope, o.Pos, h.ops[0].Slot
		last = n.Result()
		copies[o.Result()] = last
		p.in.add(n, &opFacts{index: h.last, segment: h.segment, late: h.late})
		p.groups.of[n] = h
		h.ops = append(h.ops, n)
		for _, a := range args {
			delete(p.readBys, a)
		}
	}
	return last
}
