package passtest

import (
	"math/rand"
	"slices"

	"ptc/ir"
)

// at picks an operation for which is holds, and changes it.
func at(is func(o *ir.Op) bool, change func(r *rand.Rand, s site) bool) func(*rand.Rand, *ir.Module) bool {
	return func(r *rand.Rand, m *ir.Module) bool {
		s, ok := one(r, m, is)
		return ok && change(r, s)
	}
}

// swapped exchanges two operations for which is holds.
func swapped(is func(o *ir.Op) bool) func(*rand.Rand, *ir.Module) bool {
	return func(r *rand.Rand, m *ir.Module) bool {
		return tries(func() bool {
			a, b, ok := two(r, m, is)
			return ok && reordered(a.f, slices.Concat(a.f.Ops[:a.i], []*ir.Op{b.op()}, a.f.Ops[a.i+1:b.i], []*ir.Op{a.op()}, a.f.Ops[b.i+1:]))
		})
	}
}

// crossed exchanges the first operands, of one type, of two operations for which is holds.
func crossed(is func(o *ir.Op) bool) func(*rand.Rand, *ir.Module) bool {
	return func(r *rand.Rand, m *ir.Module) bool {
		a, b, ok := two(r, m, is)
		if !ok || !a.op().Args[0].Type.Equal(b.op().Args[0].Type) || a.op().Args[0] == b.op().Args[0] {
			return false
		}
		a.op().Args[0], b.op().Args[0] = b.op().Args[0], a.op().Args[0]
		return true
	}
}

// dropped removes an operation. Who reads its result reads its operand, if
// that has the shape, or another value that does.
func dropped(r *rand.Rand, s site) bool {
	o := s.op()
	for i, v := range o.Results {
		w := s.another(r, v, sameShape)
		if i < len(o.Args) && sameShape(o.Args[i].Type, v.Type) {
			w = o.Args[i]
		}
		if w == nil {
			return false
		}
		s.replaceAfter(v, w)
	}
	s.remove()
	return true
}

// started is the collective that o is, or the end of.
func started(o *ir.Op) *ir.Op {
	if dones(o) {
		return o.Args[0].Def
	}
	return o
}

// unbucketed takes operand i out of a bucket, and out of its end; who reads the
// result reads what was to be exchanged.
func unbucketed(s site, i int) bool {
	o := s.op()
	a := o.Args[i]
	if !sameShape(a.Type, o.Results[i].Type) {
		return false
	}
	without := func(o *ir.Op) {
		o.Args, o.Results = slices.Delete(o.Args, i, i+1), slices.Delete(o.Results, i, i+1)
		if axes := o.Attrs.Names("axes"); len(axes) > i {
			set(o, "axes", ir.Names(slices.Delete(slices.Clone(axes), i, i+1)))
		}
		if at := o.At; len(at) > i {
			o.At = slices.Delete(slices.Clone(at), i, i+1)
		}
	}
	v := o.Results[i]
	for j, d := range s.f.Ops {
		if dones(d) && slices.Contains(d.Args, v) {
			site{s.f, j}.replaceAfter(d.Results[i], a)
			without(d)
		}
	}
	s.replaceAfter(v, a)
	without(o)
	return true
}

// tries calls f until it did something, or often enough.
func tries(f func() bool) bool {
	for range 200 {
		if f() {
			return true
		}
	}
	return false
}

// reordered gives f its operations in another order, if each has its operands
// there.
func reordered(f *ir.Func, ops []*ir.Op) bool {
	there := map[*ir.Value]bool{}
	for _, a := range f.Args {
		there[a.Value] = true
	}
	for _, o := range ops {
		if slices.ContainsFunc(o.Args, func(v *ir.Value) bool { return !there[v] }) {
			return false
		}
		for _, v := range o.Results {
			there[v] = true
		}
	}
	f.Ops = ops
	return true
}

// moved puts an operation anywhere after its operands and before its readers.
func moved(r *rand.Rand, s site) bool {
	o := s.op()
	lo, hi := 0, len(s.f.Ops)-1
	for i, p := range s.f.Ops {
		for _, v := range o.Args {
			if slices.Contains(p.Results, v) {
				lo = i + 1
			}
		}
		if i > s.i && i-1 < hi && slices.ContainsFunc(o.Results, func(v *ir.Value) bool { return slices.Contains(p.Args, v) }) {
			hi = i - 1
		}
	}
	if hi <= lo {
		return false
	}
	to := lo + r.Intn(hi-lo+1)
	s.remove()
	s.f.Ops = slices.Insert(s.f.Ops, to, o)
	return to != s.i
}

// regrouped gives a collective another mesh axis, or one more or less; with
// believed, the types of operand and result are as if that were right.
func regrouped(r *rand.Rand, m *ir.Module, believed bool) bool {
	s, ok := one(r, m, exchange)
	if !ok || len(m.Mesh) == 0 {
		return false
	}
	o, a := s.op(), m.Mesh[r.Intn(len(m.Mesh))]
	over := slices.Clone(o.Attrs.Names("over"))
	j := r.Intn(len(over))
	old := over[j]
	switch {
	case a.Name == old && len(over) > 1:
		over = slices.Delete(over, j, j+1)
	case slices.Contains(over, a.Name):
		return false
	case a.Size == m.MeshSize(old):
		over[j] = a.Name
	default:
		over = append(over, a.Name)
	}
	set(o, "over", ir.Names(over))
	if o.Attrs.Has("parts") {
		n := 1
		for _, x := range over {
			n *= m.MeshSize(x)
		}
		set(o, "parts", ir.Int(n))
	}
	if believed {
		rename := func(t *ir.Type) {
			for i := range t.Axes {
				for k, x := range t.Axes[i].Mesh {
					if x == old {
						t.Axes[i].Mesh[k] = a.Name
					}
				}
			}
			for i, p := range t.Partial {
				if p.Mesh == old {
					t.Partial[i].Mesh = a.Name
				}
			}
		}
		for i := range o.Args {
			rename(&o.Args[i].Type)
			rename(&o.Results[i].Type)
		}
	}
	return true
}

// otherwise ticks the reduction of a collective, sum or max, into the other.
func otherwise(r *rand.Rand, m *ir.Module, believed bool) bool {
	s, ok := one(r, m, reduces)
	if !ok {
		return false
	}
	kind := "max"
	if s.op().Attrs.Text("reduce") == kind {
		kind = "sum"
	}
	set(s.op(), "reduce", ir.Name(kind))
	if believed {
		for _, a := range s.op().Args {
			for i, p := range a.Type.Partial {
				if slices.Contains(s.op().Attrs.Names("over"), p.Mesh) {
					a.Type.Partial[i].Reduce = kind
				}
			}
		}
	}
	return true
}
