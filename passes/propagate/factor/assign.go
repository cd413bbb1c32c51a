package factor

import (
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// Strength is how much speaks for sharding a factor over a mesh axis. Of several
// factors the one of the greatest strength is sharded, of equals the first.
type Strength int

const (
	None     Strength = iota
	Lent              // an operand is sharded so, and may as well be gathered
	Wanted            // a partial operand will be needed so
	Carried           // an operand is sharded so
	Asked             // a policy asks for it
	Kept              // a policy has an operand stay sharded so
	Required          // a policy requires it
	Settled           // a policy has weighed it against what is required
)

// assignment is what the factors of one operation are sharded over.
type assignment struct {
	factors []sharded
	// partial are the mesh axes over which operands and results are partial sums:
	// the operands of these numbers, all where there are none.
	partial []ir.Partial
	in      []int
	from    Origins // why, by mesh axis
}

// sharded is a factor, or the minor part of one that is split or merged, and what
// shards it, major to minor.
type sharded struct {
	*op.Factor
	major *sharded // of a minor part
	mesh  []string
}

// fits reports whether f divides into the shards of one more mesh axis: a minor part
// where the major one is in single positions, and that one as long as the minor part
// is not sharded.
func (f *sharded) fits(mesh Mesh, n int) bool {
	switch {
	case f.Kind == op.Replicate || f.Kind == op.Exchange && f.Size != n: // one position on each device, or all
		return false
	case f.major != nil && f.major.Size != mesh.Shards(f.major.mesh):
		return false
	}
	return f.Size%(mesh.Shards(f.mesh)*n) == 0
}

// assign chooses for each mesh axis at most one factor of o, or has partial sums
// over it pass through.
func (x *Flow) assign(o *ir.Op) *assignment {
	a, factors := &assignment{}, op.Of(o).Shard(o).Factors
	all := make([]sharded, 0, 2*len(factors)) // which does not grow: pointers into it stay
	for i := range factors {
		f := &factors[i]
		all = append(all, sharded{Factor: f})
		if f.Minor != nil && f.Kind == op.PassThrough {
			all = append(all, sharded{Factor: f.Minor, major: &all[len(all)-1]})
		}
	}
	a.factors = all
	for _, m := range x.Mesh {
		if m.Size <= 1 || x.deferred(a, o, m.Name) {
			continue
		}
		may := !slices.ContainsFunc(x.Policies, func(p Policy) bool { return p.Reduces(o, m.Name) })
		if !(may && x.pass(a, o, m.Name, false)) && !x.shard(a, o, m) && may {
			x.pass(a, o, m.Name, true)
		}
	}
	return a
}

// shard gives mesh axis m to the factor for which the most speaks.
func (x *Flow) shard(a *assignment, o *ir.Op, m ir.MeshAxis) bool {
	var best *sharded
	strength := None
	for _, p := range x.Policies {
		strength = max(strength, p.Declines(o, m.Name))
	}
	why := ""
	for i := range a.factors {
		f := &a.factors[i]
		if !f.fits(x.Mesh, m.Size) {
			continue
		}
		if s, from := x.strength(o, f.Factor, m.Name); s > strength {
			best, strength, why = f, s, from
		}
	}
	if best == nil {
		return false
	}
	a.because(m.Name, why)
	best.mesh = append(best.mesh, m.Name)
	if strength == Required {
		id := o.Results[0].ID
		x.required[id] = append(x.required[id], m.Name)
	}
	return true
}

// strength is how much speaks for sharding factor f of o over m, and why.
func (x *Flow) strength(o *ir.Op, f *op.Factor, m string) (best Strength, from string) {
	note := func(s Strength, why string) {
		if s > best {
			best, from = s, why
		}
	}
	for i, axis := range f.Args {
		if axis == "" {
			continue
		}
		v := o.Args[i]
		if Along(v.Type, axis, m) {
			s := Carried
			for _, p := range x.Policies {
				if p.Lends(o, v, axis, m) {
					s = Lent
				}
			}
			note(s, x.origin.Of(v)[m])
		}
		if Partial(v.Type, m) {
			if w, ok := x.Wanted[v]; ok && Along(w.Type, axis, m) {
				note(Wanted, w.From[m])
			}
		}
	}
	for _, p := range x.Policies {
		note(p.Prefer(o, f, m))
	}
	return best, from
}

// deferred has partial sums over m of some operands pass through o where a policy says
// so, and reports whether it does: in these operands o is linear, one of them is a
// partial sum, and of the others each device has all, so that the first one can take
// it as its term.
func (x *Flow) deferred(a *assignment, o *ir.Op, m string) bool {
	if !slices.ContainsFunc(x.Policies, func(p Policy) bool { return p.Defers(o, m) }) {
		return false
	}
	for _, in := range op.LinearIn(o) {
		if len(a.partial) > 0 && !slices.Equal(in, a.in) && (a.in != nil || len(in) < len(o.Args)) {
			continue
		}
		some, all := false, true
		for _, i := range in {
			sum := PartialSum(o.Args[i].Type, m)
			some = some || sum
			all = all && (sum || !Over(o.Args[i].Type, m) && !Partial(o.Args[i].Type, m))
		}
		if some && all {
			a.in = in
			x.through(a, o, m)
			return true
		}
	}
	return false
}

// pass has partial sums over m pass through o, which is linear, and reports whether
// it does: every operand is one, or some are and of the others one device can take
// the whole as its term, because
//
//   - all are partial over another mesh axis: the result is reduced anyway, and over
//     both at once; or,
//   - with scalars, they are scalars. What is wanted in another state is reduced for
//     its own sake.
func (x *Flow) pass(a *assignment, o *ir.Op, m string, scalars bool) bool {
	if !op.IsLinear(o) || len(o.Args) == 0 {
		return false
	}
	joint := partialBesides(o, m)
	for _, v := range o.Args {
		if _, wanted := x.Wanted[v]; wanted && Partial(v.Type, m) {
			scalars = false
		}
	}
	some := false
	for _, v := range o.Args {
		switch {
		case PartialSum(v.Type, m):
			some = true
		case Partial(v.Type, m):
			return false
		case joint && !Over(v.Type, m) || v.Type.Rank() == 0 && scalars:
		default:
			return false
		}
	}
	if some {
		x.through(a, o, m)
	}
	return some
}

// through notes that partial sums over m pass through o, and why its first operand
// that is one is.
func (x *Flow) through(a *assignment, o *ir.Op, m string) {
	a.partial = append(a.partial, ir.Partial{Mesh: m, Reduce: "sum"})
	for _, v := range o.Args {
		if at := x.origin.Of(v)[m]; at != "" && Partial(v.Type, m) {
			a.because(m, at)
			return
		}
	}
}

// because notes the rule by which the assignment over m goes, if there is one.
func (a *assignment) because(m, rule string) {
	if rule == "" {
		return
	}
	if a.from == nil {
		a.from = Origins{}
	}
	a.from[m] = rule
}

// partialBesides reports whether all operands of o are partial sums over one and the
// same mesh axis other than m.
func partialBesides(o *ir.Op, m string) bool {
	return slices.ContainsFunc(o.Args[0].Type.Partial, func(p ir.Partial) bool {
		return p.Mesh != m && !slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return !PartialSum(v.Type, p.Mesh) })
	})
}

// operand is the state in which o needs operand i.
func (a *assignment) operand(mesh Mesh, o *ir.Op, i int) ir.Type {
	t := Replicated(o.Args[i].Type)
	for _, f := range a.factors {
		extend(t, f.Args[i], f.mesh)
	}
	if a.in == nil || slices.Contains(a.in, i) {
		t.Partial = mesh.sorted(a.partial)
	}
	return t
}

// result is the state of o's result i.
func (a *assignment) result(mesh Mesh, o *ir.Op, i int) ir.Type {
	t := Replicated(o.Results[i].Type)
	for _, f := range a.factors {
		extend(t, f.Results[i], f.mesh)
		if f.Results[i] == "" && f.Kind == op.Reduce {
			for _, m := range f.mesh {
				t.Partial = append(t.Partial, ir.Partial{Mesh: m, Reduce: f.Reduction})
			}
		}
	}
	t.Partial = mesh.sorted(append(t.Partial, a.partial...))
	return t
}
