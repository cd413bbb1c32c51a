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

// findCores finds the attentions of f, each of which will be one kernel, and
// puts the operations of each in a row. Those of the forward and the backward phase
// are two, since package remat has the latter compute the scores again. mask is the operations
// on positions alone that an attention reads, and those that they are made of: each block of
// scores has its own, however long the formula is.
func findCores(c *pass.Context, f *ir.Func) (cores map[*ir.Op]*core, mask map[*ir.Op]bool) {
	cores, mask = map[*ir.Op]*core{}, map[*ir.Op]bool{}
	if !c.Target.Attention {
		return cores, mask
	}
	at := make(map[*ir.Op]int, len(f.Ops))
	for i, o := range f.Ops {
		at[o] = i
	}
	readers := make(map[*ir.Value][]*ir.Op, len(f.Ops))
	for _, o := range f.Ops {
		for _, v := range o.Args {
			readers[v] = append(readers[v], o)
		}
	}
	constant := fusion.Constants{}
	within := func(exp, o *ir.Op) bool { return !alone(o) && o.Run == exp.Run && o.Task == exp.Task }
	var addMask func(v *ir.Value)
	addMask = func(v *ir.Value) {
		if constant.Has(v) && !mask[v.Def] {
			mask[v.Def] = true
			for _, a := range v.Def.Args {
				addMask(a)
			}
		}
	}
	known := map[*ir.Op]bool{}
	var failed []unmade
	for _, k := range fusion.Cores(f, within) {
		for _, o := range k.Ops {
			known[o] = true
		}
		why := unfit(f, k, readers, c.Target.Unfit)
		if why == "" {
			why = inRow(f.Ops, at, k)
		}
		if why != "" {
			failed = append(failed, unmade{k, why})
			continue
		}
		x := &core{k.Ops}
		for _, o := range k.Ops {
			cores[o] = x
			for _, v := range o.Args {
				addMask(v)
			}
		}
	}
	warnStored(c, f, readers, known, warnUnmade(c, failed))
	return cores, mask
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
func (p *grouping) attention(x *core) *group {
	g := &group{id: len(p.list), shape: shape{class: fusion.Attend}}
	for _, o := range x.ops {
		if p.in.ops[o].free || p.in.views[o.Results[0]] != nil {
			continue
		}
		if o.Name == op.Exp && g.space == "" {
			g.space = spaceOf(o.Result().Type.Axes)
		}
		g.ops = append(g.ops, o)
		g.last = p.in.ops[o].index
		g.late = g.late || p.in.ops[o].late
		if o.Run != nil {
			g.stack, g.run = o.Run.Stack, max(g.run, p.in.time.start[o.Run])
			g.early = max(g.early, p.in.time.early[o])
		}
		if op.Of(o).Class == op.Contraction {
			g.root = o
		}
		g.ins += 1 + len(o.Args)
	}
	g.segment = p.in.ops[g.ops[0]].segment
	for _, o := range g.ops {
		p.of[o] = g
	}
	for _, o := range g.ops {
		for _, v := range o.Results {
			g.result = g.result || p.in.result[v]
			for _, r := range p.in.readers(v) {
				if p.of[r.o] != g {
					g.outside++
				}
			}
			g.outs += len(p.in.readers(v))
		}
	}
	g.outs++
	p.list = append(p.list, g)
	p.seq.push(g)
	return g
}

// attends reports whether both groups together are one attention.
func (p *grouping) attends(a, b *group) bool {
	whole := &group{shape: shape{class: fusion.Attend}, ops: p.in.inOrder(append([]*ir.Op(nil), a.ops...), b.ops)}
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
			if p.in.result[v] || p.readOutside(v, whole) {
				outs = append(outs, v)
			}
		}
	}
	return p.known.attention(whole, p.body(whole, outs, nil))
}
