package propagate

import (
	"slices"
	"strings"

	"ptc/internal/units"
	"ptc/internal/wide"
	"ptc/ir"
	"ptc/passes/pass"
	"ptc/passes/propagate/factor"
)

// storage is the policy of what training keeps, with or without zero: the optimizer
// reads gradients in the sharding of its own tensors, so that those need not follow
// the gradient, and the loss is reduced where the forward phase ends.
type storage struct {
	factor.Silent
	*trial
}

func newStorage(t *trial) factor.Policy { return &storage{trial: t} }

// Before: partial sums may still be added to others, where they are not sharded
// otherwise than these.
func (s *storage) Before(x *factor.Flow, o *ir.Op) {
	if len(o.Results) == 0 || !s.facts.update[o.Results[0]] {
		return
	}
	for i, v := range o.Args {
		if w, ok := s.facts.wanted[v]; ok && (len(v.Type.Partial) == 0 || !within(v.Type, w.Type)) {
			o.Args[i] = x.Reshard(o, v, w.Type, w.From, "")
		}
	}
}

func (s *storage) After(x *factor.Flow, o *ir.Op) {
	for _, r := range o.Results {
		if s.facts.loss[r] {
			x.Reshard(o, r, factor.Replicated(r.Type), nil, ir.RoleLoss+" ")
		}
	}
}

// within reports whether t is sharded along each axis over no other mesh axes than w.
func within(t, w ir.Type) bool {
	for i, a := range t.Axes {
		if slices.ContainsFunc(a.Mesh, func(m string) bool { return !slices.Contains(w.Axes[i].Mesh, m) }) {
			return false
		}
	}
	return true
}

// gathered is the policy of parameters that zero shards: what reads one gathers it
// wherever something else is to be sharded, rather than follow it.
type gathered struct {
	factor.Silent
	*trial
}

// gatherStored tries [gathered] with zero 3.
func gatherStored(before *trial) maker {
	if before.l.zeroLevel < 3 {
		return nil
	}
	return func(t *trial) factor.Policy { return &gathered{trial: t} }
}

// Speaks: of what reads a parameter.
func (g *gathered) Speaks(o *ir.Op) bool {
	return slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return g.facts.kept[factor.Root(v)] })
}

func (g *gathered) Lends(o *ir.Op, v *ir.Value, axis, m string) bool {
	s, _ := g.l.claimOn(axis, m, "")
	return s == factor.None && slices.Contains(g.l.zero, m) && g.facts.kept[factor.Root(v)] && !g.facts.update[o.Results[0]]
}

// problem is f with how its arguments lie and its results leave: new parameters and
// state as the old ones, losses and statistics replicated, gradients as the
// optimizer's state.
func (l *layout) problem(f *ir.Func) factor.Problem {
	p := factor.Problem{Func: f, Wanted: map[*ir.Value]factor.Given{}}
	for _, m := range l.mesh {
		if !l.stages[m.Name] {
			p.Mesh = append(p.Mesh, m)
		}
	}
	if l.pipeline != nil {
		p.Place = l.pipeline.placeOf
	}
	args := map[string]ir.Type{}
	for _, a := range f.Args {
		g := l.argument(a)
		p.Args, args[a.Role+" "+a.Path] = append(p.Args, g), g.Type
	}
	for _, r := range f.Results {
		t, ok := args[r.Role+" "+r.Path]
		switch {
		case ok:
			t = t.Clone()
		case r.Role == ir.RoleGrad:
			t = l.stored(ir.OfInstance(r.Path, 0), r.Value.Type, l.zeroLevel >= 1)
			p.Wanted[r.Value] = factor.Given{Type: t, From: l.wantedFrom(t)}
		default:
			t = factor.Replicated(r.Value.Type)
		}
		p.Results = append(p.Results, t)
	}
	return p
}

// argument is how parameters, optimizer state and data lie, and by which rules.
func (l *layout) argument(a *ir.Arg) factor.Given {
	g := factor.Given{Type: a.Value.Type, From: factor.Origins{}}
	path, _, _ := strings.Cut(ir.OfInstance(a.Path, 0), "/") // a rule is about all instances of a stack, or none
	switch a.Role {
	case ir.RoleParam:
		g.Type = l.stored(path, g.Type, l.zeroLevel >= 3)
	case ir.RoleState:
		g.Type = l.stored(path, g.Type, l.zeroLevel >= 1)
	case ir.RoleData:
		path = ""
		g.Type = l.stored(path, g.Type, false)
	}
	for _, x := range g.Type.Axes {
		for _, m := range x.Mesh {
			if _, g.From[m] = l.claimOn(x.Name, m, path); g.From[m] == "" {
				g.From[m] = l.zeroAt
			}
		}
	}
	return g
}

// wantedFrom is why a gradient is needed in state t.
func (l *layout) wantedFrom(t ir.Type) factor.Origins {
	out := factor.Origins{}
	for _, x := range t.Axes {
		for _, m := range x.Mesh {
			out[m] = l.zeroAt
			if s, at := l.claimOn(x.Name, m, ""); s == factor.Required {
				out[m] = at
			}
		}
	}
	return out
}

// stored is the state in which a parameter (or its gradient, or its optimizer
// state) of type t lies: what the rules say of its axes, and for zero also the
// first axis that can be sharded further, over as many of its mesh axes as divide it.
func (l *layout) stored(path string, t ir.Type, zero bool) ir.Type {
	t = t.Clone()
	replicated, some := l.replicated[path]
	if some && len(replicated) == 0 {
		return t
	}
	used := map[string]bool{}
	for i := range t.Axes {
		a := &t.Axes[i]
		for _, m := range l.mesh {
			s, _ := l.claimOn(a.Name, m.Name, path)
			if s == factor.Required && !used[m.Name] && !slices.Contains(replicated, m.Name) && !l.stages[m.Name] && l.mesh.Fits(*a, m.Name) {
				a.Mesh = append(a.Mesh, m.Name)
				used[m.Name] = true
			}
		}
	}
	if !zero {
		return t
	}
	return l.sharded(t, slices.DeleteFunc(slices.Clone(l.zero), func(m string) bool { return slices.Contains(replicated, m) || used[m] }))
}

// sharded is t sharded further over mesh axes of zero: all on one axis, if one divides, as one collective gathers it then;
// else in as few lists, one after the other, as make the most shards.
func (l *layout) sharded(t ir.Type, over []string) (best ir.Type) {
	most, fewest := 0, 0
	for cuts := range 1 << max(0, len(over)-1) { // bit i is a cut behind mesh axis i
		x, lists, at := t.Clone(), 0, 0
		for i := range over {
			if i == len(over)-1 || cuts&(1<<i) != 0 {
				l.shardFirst(x, over[at:i+1])
				lists, at = lists+1, i+1
			}
		}
		n := 1
		for _, a := range x.Axes {
			n *= l.mesh.Shards(a.Mesh)
		}
		if n > most || n == most && lists < fewest {
			best, most, fewest = x, n, lists
		}
	}
	return best
}

// shardFirst shards the first axis that divides over all of these mesh axes, so that one collective gathers it: an
// unsharded one if there is any, best one that gradients do not come sharded along; else one whose
// shards are of mesh axes that are major to these, as operations shard them, else any.
func (l *layout) shardFirst(t ir.Type, over []string) {
	for _, ok := range []func(a ir.Axis) bool{
		func(a ir.Axis) bool { return len(a.Mesh) == 0 && len(l.claims[a.Name]) == 0 },
		func(a ir.Axis) bool { return len(a.Mesh) == 0 },
		func(a ir.Axis) bool {
			all := slices.Concat(a.Mesh, over)
			return slices.Equal(l.mesh.Sorted(all), all)
		},
		func(ir.Axis) bool { return true },
	} {
		for i := range t.Axes {
			if a := &t.Axes[i]; ok(*a) && l.mesh.Fits(*a, over...) {
				a.Mesh = append(a.Mesh, over...)
				return
			}
		}
	}
}

// remarkReplicated says which parameters zero leaves on every device in full, because
// none of their axes divides: their state, and at level 3 they themselves.
func (l *layout) remarkReplicated(c *pass.Context, f *ir.Func) {
	for _, m := range l.zero {
		var first string
		var count, all, bytes int
		for _, a := range f.Args {
			if a.Role != ir.RoleParam {
				continue
			}
			path, n := ir.OfInstance(a.Path, 0), a.Value.Count()
			all += n
			if _, said := l.replicated[path]; said || factor.Over(l.stored(path, a.Value.Type, true), m) {
				continue
			}
			if count == 0 {
				first = path
			}
			count += n
			bytes += n * a.Value.Type.Bytes()
		}
		if count > 0 {
			c.Remarkf(nil, "zero over %s leaves %d of %d parameters, of %d bytes, replicated: no axis of these, such as %[6]s, divides into %[5]d more shards",
				m, count, all, bytes, l.mesh.Size(m), first)
			l.warnWhole(c, f, m)
		}
	}
}

// littleWhole is how many bytes of optimizer states on each device are no matter, however few the others are.
const littleWhole = 1 << 20

// warnWhole warns where zero over m leaves more than a tenth of what a device has of optimizer states whole.
func (l *layout) warnWhole(c *pass.Context, f *ir.Func, m string) {
	var whole, sharded int64
	for _, a := range f.Args {
		path, _, _ := strings.Cut(ir.OfInstance(a.Path, 0), "/")
		if _, said := l.replicated[path]; said || a.Role != ir.RoleState {
			continue
		}
		t := l.stored(path, a.Value.Type, true)
		bytes := wide.Mul(int64(a.Value.Count()), l.mesh.Bytes(t))
		if factor.Over(t, m) {
			sharded = wide.Add(sharded, bytes)
		} else {
			whole = wide.Add(whole, bytes)
		}
	}
	for stage := range l.stages { // a device has one stage's share, some more and some less
		whole, sharded = whole/int64(l.mesh.Size(stage)), sharded/int64(l.mesh.Size(stage))
	}
	if whole <= littleWhole || whole <= sharded/9 {
		return
	}
	c.Warnf(nil, "`zero` over `%s` leaves about %s of %s of optimizer states replicated: no axis of these parameters divides into %d more shards (W0403)",
		m, units.Bytes(whole), units.Bytes(whole+sharded), l.mesh.Size(m))
}
