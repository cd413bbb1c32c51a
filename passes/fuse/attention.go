package fuse

import (
	"fmt"

	"ptc/ir"
	"ptc/ir/fusion"
	"ptc/ir/op"
	"ptc/passes/pass"
)

// core is the operations of an attention, one after the other in the program.
type core struct{ ops []*ir.Op }

// findCores finds the attentions of the program, each of which will be one kernel, and
// puts the operations of each in a row. Those of the forward and the backward phase
// are two, since package remat has the latter compute the scores again.
func (p *program) findCores(c *pass.Context) {
	p.core, p.mask = map[*ir.Op]*core{}, map[*ir.Op]bool{}
	if !c.Target.Attention {
		return
	}
	at := make(map[*ir.Op]int, len(p.f.Ops))
	for i, o := range p.f.Ops {
		at[o] = i
	}
	readers := make(map[*ir.Value][]*ir.Op, len(p.f.Ops))
	for _, o := range p.f.Ops {
		for _, v := range o.Args {
			readers[v] = append(readers[v], o)
		}
	}
	constant := fusion.Constants{}
	within := func(exp, o *ir.Op) bool { return !alone(o) && o.Run == exp.Run && o.Task == exp.Task }
	known := map[*ir.Op]bool{}
	var failed []unmade
	for _, k := range fusion.Cores(p.f, within) {
		for _, o := range k.Ops {
			known[o] = true
		}
		why := unfit(p.f, k, readers, c.Target.Unfit)
		if why == "" {
			why = inRow(p.f.Ops, at, k)
		}
		if why != "" {
			failed = append(failed, unmade{k, why})
			continue
		}
		x := &core{k.Ops}
		for _, o := range k.Ops {
			p.core[o] = x
			for _, v := range o.Args {
				p.addMask(v, constant)
			}
		}
	}
	warnStored(c, p.f, readers, known, warnUnmade(c, failed))
}

// addMask notes what v is made of, where it is made of positions alone: each block of
// scores has its own, however long the formula is.
func (p *program) addMask(v *ir.Value, constant fusion.Constants) {
	if !constant.Has(v) || p.mask[v.Def] {
		return
	}
	p.mask[v.Def] = true
	for _, a := range v.Def.Args {
		p.addMask(a, constant)
	}
}

// unfit is why the operations of an attention are no kernel, or none for the target, or empty.
// Scores may be read in another run or task as well, where the backward phase is no kernel.
func unfit(f *ir.Func, k *fusion.Core, readers map[*ir.Value][]*ir.Op, target func(*fusion.Kernel) string) string {
	blocked := k.Blocked
	for _, o := range k.Ops {
		for _, v := range o.Results {
			for _, r := range readers[v] {
				if blocked == nil && k.Over(v) && !k.Has(r) {
					blocked = r
				}
			}
		}
	}
	if blocked != nil {
		return fmt.Sprintf("scores are read by `%s`, outside of the attention", blocked.Name)
	}
	a, err := fusion.Analyze(k.Kernel(k.Results()))
	switch {
	case err != nil:
		return err.Error()
	case target != nil:
		return target(a)
	}
	return ""
}

// inRow puts what stands between the operations of an attention before them, or, where
// it depends on one, behind them; or says why that cannot be. at is the place of each
// operation.
func inRow(ops []*ir.Op, at map[*ir.Op]int, k *fusion.Core) string {
	var before, behind []*ir.Op
	depends := map[*ir.Op]bool{}
	lo, hi := len(ops), 0
	for _, o := range k.Ops { // others may have been put in row since they were found
		lo, hi = min(lo, at[o]), max(hi, at[o])
	}
	for _, o := range ops[lo : hi+1] {
		for _, a := range o.Args {
			if a.Def != nil && (depends[a.Def] || k.Has(a.Def) && !k.Has(o)) {
				depends[o] = true
			}
		}
		switch {
		case k.Has(o) && depends[o]:
			return fmt.Sprintf("`%s` needs what others make of its results", o.Name)
		case k.Has(o):
		case op.Has(o, op.Message) || o.Task != k.Exp.Task:
			return fmt.Sprintf("`%s` stands between its operations", o.Name)
		case depends[o]:
			behind = append(behind, o)
		default:
			before = append(before, o)
		}
	}
	copy(ops[lo:], append(append(before, k.Ops...), behind...))
	for i := lo; i <= hi; i++ {
		at[ops[i]] = i
	}
	return ""
}

// attention makes a group of an attention.
func (p *program) attention(x *core) *group {
	g := &group{id: len(p.groups), class: fusion.Attend}
	for _, o := range x.ops {
		if p.free[o] || p.views[o.Results[0]] != nil {
			continue
		}
		if o.Name == op.Exp && g.space == "" {
			g.space = spaceOf(o.Result().Type.Axes)
		}
		g.ops = append(g.ops, o)
		g.last = p.index[o]
		g.late = g.late || p.late[o]
		if o.Run != nil {
			g.stack, g.run = o.Run.Stack, max(g.run, p.time.start[o.Run])
			g.early = max(g.early, p.time.early[o])
		}
		if op.Of(o).Class == op.Contraction {
			g.root = o
		}
		g.ins += 1 + len(o.Args)
	}
	g.segment = p.segment[g.ops[0]]
	for _, o := range g.ops {
		p.of[o] = g
	}
	for _, o := range g.ops {
		for _, v := range o.Results {
			g.result = g.result || p.result[v]
			for _, r := range p.readers(v) {
				if p.of[r.o] != g {
					g.outside++
				}
			}
			g.outs += len(p.readers(v))
		}
	}
	g.outs++
	p.groups = append(p.groups, g)
	p.seq.push(g)
	return g
}

// intoAttention: cheap work that nothing else needs, on operands, scores or results.
func intoAttention(p *program, a, b *group, u use) bool {
	return !u.outside && a.cheap && p.attends(a, b)
}

// attentionInto: work on results, and on what is over the rows.
func attentionInto(p *program, a, b *group, _ use) bool { return p.attends(a, b) }

// attends reports whether both groups together are one attention.
func (p *program) attends(a, b *group) bool {
	whole := &group{class: fusion.Attend, ops: p.inOrder(append([]*ir.Op(nil), a.ops...), b.ops)}
	for _, o := range whole.ops {
		p.of[o] = whole
	}
	defer func() {
		for _, g := range []*group{a, b} {
			for _, o := range g.ops {
				p.of[o] = g
			}
		}
	}()
	var outs []*ir.Value
	for _, o := range whole.ops {
		for _, v := range o.Results {
			if p.result[v] || p.readOutside(v, whole) {
				outs = append(outs, v)
			}
		}
	}
	return p.alike.attention(whole, p.body(whole, outs))
}
