package propagate

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// assignment is what one operation's factors are sharded over.
type assignment struct {
	rule op.Rule
	mesh [][]string // by factor, major to minor
	// minor is what cuts a factor's minor part besides.
	minor [][]string
	// owed are the mesh axes over which a linear operation's operands and
	// results are owed sums.
	owed []ir.Partial
	in   []int   // the operands that owe; nil for all
	from origins // of what is chosen for each mesh axis
}

// strengths of a wish to shard a factor, in ascending order.
const (
	nothing = iota
	lent
	wished
	carried
	between
	ruled
)

// assign chooses for every mesh axis at most one factor of o.
func (p *propagation) assign(o *ir.Op) assignment {
	a := assignment{rule: op.Of(o).Shard(o), from: origins{}}
	a.mesh, a.minor = make([][]string, len(a.rule.Factors)), make([][]string, len(a.rule.Factors))
	for _, m := range p.l.mesh {
		if p.l.stages[m.Name] || m.Size == 1 {
			continue
		}
		if p.carryOwed(&a, o, m.Name) {
			continue
		}
		if owed, ok := p.stayOwed(o, m.Name, false); ok {
			a.owed = append(a.owed, owed) // settled once, after all have been added
			a.from[m.Name] = p.owedBecause(o, m.Name)
			continue
		}
		var best *[]string
		strength := nothing
		for i := range a.rule.Factors {
			f, cut := p.free(&a, i, m.Size)
			if f == nil {
				continue
			}
			s, at := p.strength(o, f, m.Name)
			if s > strength {
				best, strength, a.from[m.Name] = cut, s, at
			}
		}
		if best != nil {
			*best = append(*best, m.Name)
			p.note(o, m.Name, strength)
			continue
		}
		if owed, ok := p.stayOwed(o, m.Name, true); ok {
			a.owed = append(a.owed, owed)
			a.from[m.Name] = p.owedBecause(o, m.Name)
		}
	}
	return a
}

// free is factor i of the rule, or its minor part, as it can be cut into n more
// parts, and where to note what cuts it; nil if it cannot.
func (p *propagation) free(a *assignment, i, n int) (*op.Factor, *[]string) {
	f := &a.rule.Factors[i]
	parts := p.l.partsOver(a.mesh[i])
	switch {
	case f.Kind == op.Replicate || f.Kind == op.Exchange && f.Size != n:
		return nil, nil // one position on each device of one mesh axis, or whole
	case f.Size%(parts*n) == 0 && len(a.minor[i]) == 0:
		return f, &a.mesh[i]
	case f.Minor != nil && f.Size == parts && f.Minor.Size%(p.l.partsOver(a.minor[i])*n) == 0:
		return f.Minor, &a.minor[i]
	}
	return nil, nil
}

// strength is how much speaks for sharding factor f of o over mesh axis m, and
// which rule of the layout it goes back to.
func (p *propagation) strength(o *ir.Op, f *op.Factor, m string) (int, string) {
	best, where := nothing, ""
	note := func(s int, at string) {
		if s > best {
			best, where = s, at
		}
	}
	name := func(axis string) {
		if axis == "" || p.update[o.Results[0]] {
			return // the optimizer computes in the sharding in which its tensors are stored
		}
		switch c, at := p.l.claimOn(axis, m, ""); c {
		case 2:
			note(ruled, at)
		case 1:
			note(between, at)
		}
	}
	for i, axis := range f.Args {
		name(axis)
		if axis == "" {
			continue
		}
		v := o.Args[i]
		if shardedOver(v.Type, axis, m) {
			s := carried
			if p.plan.gather && p.ofZero(o, v, axis, m) {
				s = lent
			}
			note(s, p.origin[v][m])
		}
		if w, ok := p.wish[v]; ok && owes(v.Type, m) && shardedOver(w, axis, m) {
			note(wished, p.l.wished(w)[m])
		}
	}
	for _, axis := range f.Results {
		name(axis)
	}
	return best, where
}

// ofZero reports whether v, that o of the model reads, is a parameter (or a cast of
// one) whose axis zero alone cuts over m.
func (p *propagation) ofZero(o *ir.Op, v *ir.Value, axis, m string) bool {
	c, _ := p.l.claimOn(axis, m, "")
	return c == 0 && slices.Contains(p.l.zero, m) && p.kept[root(v)] && !p.update[o.Results[0]]
}

func shardedOver(t ir.Type, axis, m string) bool {
	i := t.Index(axis)
	if i < 0 {
		return false
	}
	for _, x := range t.Axes[i].Mesh {
		if x == m {
			return true
		}
	}
	return false
}

func owes(t ir.Type, m string) bool {
	for _, x := range t.Partial {
		if x.Mesh == m {
			return true
		}
	}
	return false
}

// stayOwed reports whether o may be computed on sums still owed over m: it is
// linear, and every operand owes a sum, or some do and of the others one device
// can take the whole as its part, because
//
//   - all owe a sum over another mesh axis: the result is settled anyway, and
//     over both at once; or,
//   - with scalars, they are scalars. Gradients are settled for their own sake.
func (p *propagation) stayOwed(o *ir.Op, m string, scalars bool) (ir.Partial, bool) {
	owed := ir.Partial{Mesh: m, Reduce: "sum"}
	if !op.IsLinear(o) || len(o.Args) == 0 {
		return owed, false
	}
	joint := jointlyOwed(o, m)
	for _, v := range o.Args {
		if _, grad := p.wish[v]; grad && owes(v.Type, m) {
			scalars = false
		}
	}
	some, all := false, true
	for _, v := range o.Args {
		has := false
		for _, x := range v.Type.Partial {
			has = has || x == owed
			if x.Mesh == m && x != owed {
				return owed, false
			}
		}
		some = some || has
		all = all && (has || joint && !sharded(v.Type, m) || v.Type.Rank() == 0 && scalars)
	}
	return owed, some && all
}

// jointlyOwed reports whether all operands of o owe a sum over one and the same
// mesh axis other than m.
func jointlyOwed(o *ir.Op, m string) bool {
	for _, x := range o.Args[0].Type.Partial {
		all := x.Mesh != m && x.Reduce == "sum"
		for _, v := range o.Args {
			all = all && slices.Contains(v.Type.Partial, x)
		}
		if all {
			return true
		}
	}
	return false
}

// sharded reports whether any axis of t is cut over m.
func sharded(t ir.Type, m string) bool {
	return slices.ContainsFunc(t.Axes, func(a ir.Axis) bool { return slices.Contains(a.Mesh, m) })
}

// operand is the state in which o needs operand i.
func (a *assignment) operand(p *propagation, o *ir.Op, i int) ir.Type {
	t := replicated(o.Args[i].Type)
	for j, f := range a.rule.Factors {
		cutBy(t, f.Args[i], a.mesh[j])
		if len(a.minor[j]) > 0 {
			cutBy(t, f.Minor.Args[i], a.minor[j])
		}
	}
	if a.in == nil || slices.Contains(a.in, i) {
		t.Partial = p.l.inOrder(append(t.Partial, a.owed...))
	}
	return t
}

// stamp writes the states of o's results.
func (a *assignment) stamp(p *propagation, o *ir.Op) {
	for i, r := range o.Results {
		t := replicated(r.Type)
		for j, f := range a.rule.Factors {
			cutBy(t, f.Results[i], a.mesh[j])
			if len(a.minor[j]) > 0 {
				cutBy(t, f.Minor.Results[i], a.minor[j])
			}
			if f.Results[i] == "" && f.Kind == op.Reduce {
				for _, m := range a.mesh[j] {
					t.Partial = append(t.Partial, ir.Partial{Mesh: m, Reduce: f.Reduction})
				}
			}
		}
		t.Partial = p.l.inOrder(append(t.Partial, a.owed...))
		r.Type = t
		p.origin[r] = a.from
	}
}

// cutBy cuts an axis of t, if there is one of the name, over mesh axes that are
// minor to those which cut it already.
func cutBy(t ir.Type, axis string, mesh []string) {
	if axis != "" && len(mesh) > 0 {
		x := &t.Axes[t.Index(axis)]
		x.Mesh = append(x.Mesh[:len(x.Mesh):len(x.Mesh)], mesh...)
	}
}
