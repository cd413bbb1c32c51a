package fuse

import (
	"fmt"
	"slices"
	"strings"

	"ptc/ir"
	"ptc/passes/pass"
)

// Run fuses every entry function of m.
func Run(c *pass.Context, m *ir.Module) error {
	shared := &kernels{module: m, byText: map[string]*ir.Func{}, count: map[string]int{}}
	var entries []*ir.Func
	for _, f := range m.Funcs {
		if f.Class == ir.Kernel {
			return fmt.Errorf("fuse: function @%s is a kernel already", f.Name)
		}
		entries = append(entries, f)
	}
	x := &fuser{c: c, m: m, shared: shared, known: newLikeness()}
	for _, f := range entries {
		if err := x.function(f, len(entries) > 1); err != nil {
			return err
		}
	}
	sumInParts(c, m, shared)
	keepCalled(m)
	m.Level = ir.Fused
	return nil
}

// fuser fuses the functions of a module one after the other.
type fuser struct {
	c      *pass.Context
	m      *ir.Module
	shared *kernels
	known  *likeness
	ops    int // that a step does, before fusion
	done   repeats
}

// function fuses f, which may be a copy of one before it. Where others follow, f is kept
// for them.
func (x *fuser) function(f *ir.Func, many bool) error {
	dropDead(f)
	splitReductions(f)
	if x.repeat(f) {
		return nil
	}
	var given *ir.Func
	if many {
		given = f.Clone()
	}
	told := len(x.c.Remarks)
	p, order := x.grouped(f)
	remarks := x.c.Remarks[told:]
	before, times := len(f.Ops), f.Times()
	f.Ops = (&emission{from: p, shared: x.shared, mesh: x.m.Mesh}).calls(order.sorted())
	f.JoinRuns()
	joinTasks(f)
	if x.c.Target.Join == nil {
		joinCalls(x.c, f, x.shared)
	}
	splitRuns(x.c, f, x.shared)
	if err := firstTicks(f, x.shared); err != nil {
		return err
	}
	if many {
		x.done.note(&done{given: given, f: f, before: before, times: times, remarks: slices.Clone(remarks)})
	}
	x.say(f, before, times, "")
	return nil
}

// say tells what became of f, which had so many operations before, that run so often in a step,
// and of which function it is a copy.
func (x *fuser) say(f *ir.Func, before int, times int64, as string) {
	if f.Name == "step" || f.Of == "step" {
		x.ops += int(times)
		x.m.SetMeta(ir.Term{Head: "stats", Args: ir.A("ops", ir.Int(x.ops))})
	}
	x.c.Remarkf(nil, "@%s: %d operations in %d kernel calls%s", f.Name, before, len(f.Ops), as)
}

// repeat makes f a copy of a function that was fused, where it is alike. It reports
// whether it is.
func (x *fuser) repeat(f *ir.Func) bool {
	d, names := x.done.find(f)
	if d == nil {
		return false
	}
	remarks, known := d.retold(names)
	if !known || !d.copyTo(f, names) {
		return false
	}
	x.c.Remarks = append(x.c.Remarks, remarks...)
	x.say(f, d.before, d.times, ", as @"+d.f.Name)
	return true
}

// grouped is f in groups, and the order in which they can be done. Operations of two runs
// may be in one group; where that leads to a circle, as what a run waits for as a whole
// is not looked at for every group, each run is grouped by itself.
func (x *fuser) grouped(f *ir.Func) (*storage, *readiness) {
	var whole *ir.Func
	if len(f.Stacks) > 0 {
		whole = f.Clone()
	}
	p := newStorage(x.c, newGrouping(x.c, newFacts(x.c, f), x.known, false))
	if x.c.Target.Join == nil {
		p.recomputeLater()
	}
	r := newReadiness(p)
	if r.circle && whole != nil {
		*f = *whole
		quiet := &pass.Context{Pass: x.c.Pass, Target: x.c.Target, Rewrites: x.c.Rewrites} // the remarks are there
		p = newStorage(quiet, newGrouping(quiet, newFacts(quiet, f), x.known, true))
		r = newReadiness(p)
	}
	p.because(x.c)
	return p, r
}

// because records for each two groups of which one reads the other why they are not one kernel.
func (p *storage) because(c *pass.Context) {
	if !c.Asked() {
		return
	}
	for _, g := range p.groups.list {
		if g.class == exchange {
			continue
		}
		for _, from := range p.groups.inputs(g, p.again) {
			if from.class != exchange {
				_, why := p.groups.union(from, g)
				s := from.subject()
				c.Because(g.subject(), "%s is not fused with %s of %s: %s", g, from, strings.TrimSpace(s.Scope+" "+s.Pos.String()), why)
			}
		}
	}
}
