package passtest

import (
	"math/rand"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// Mutation changes one thing of a correct module from ir(Local) on. Apply
// reports whether there was something of its kind to change; if not, m is as it
// was.
type Mutation struct {
	Name  string
	Apply func(r *rand.Rand, m *ir.Module) bool
}

// Entries are the entry functions of m.
func Entries(m *ir.Module) []*ir.Func {
	var out []*ir.Func
	for _, f := range m.Funcs {
		if f.Class != ir.Kernel {
			out = append(out, f)
		}
	}
	return out
}

// site is an operation of an entry function.
type site struct {
	f *ir.Func
	i int
}

func (s site) op() *ir.Op { return s.f.Ops[s.i] }

// one picks an operation of the entry functions for which is holds.
func one(r *rand.Rand, m *ir.Module, is func(o *ir.Op) bool) (site, bool) {
	var all []site
	for _, f := range Entries(m) {
		for i, o := range f.Ops {
			if is(o) {
				all = append(all, site{f, i})
			}
		}
	}
	if len(all) == 0 {
		return site{}, false
	}
	return all[r.Intn(len(all))], true
}

func copies(o *ir.Op) bool   { return op.Has(o, op.Copies) }
func message(o *ir.Op) bool  { return op.Has(o, op.Message) }
func sends(o *ir.Op) bool    { return op.Has(o, op.Sends) }
func receives(o *ir.Op) bool { return op.Has(o, op.Receives) }
func anything(*ir.Op) bool   { return true }

func dones(o *ir.Op) bool   { return op.Has(o, op.Completes) }
func buckets(o *ir.Op) bool { return exchange(o) && len(o.Args) > 1 }

// exchange reports whether o is among a group, of one value or of several.
func exchange(o *ir.Op) bool {
	return op.Of(o).Class == op.Collective && o.Attrs.Has("over") && !message(o) && !dones(o) && len(o.Args) == len(o.Results)
}

func reduces(o *ir.Op) bool { return exchange(o) && o.Attrs.Has("reduce") }
func computes(o *ir.Op) bool {
	return op.Of(o).Class != op.Collective && len(o.Args) > 0
}

func sameShape(t, u ir.Type) bool { return t.DType == u.DType && t.SameAxes(u) }

// defined lists the values that exist before operation i.
func (s site) defined() []*ir.Value {
	var out []*ir.Value
	for _, a := range s.f.Args {
		out = append(out, a.Value)
	}
	for _, o := range s.f.Ops[:s.i] {
		out = append(out, o.Results...)
	}
	return out
}

// another is a value other than v, of its type, that exists before operation i.
func (s site) another(r *rand.Rand, v *ir.Value, alike func(t, u ir.Type) bool) *ir.Value {
	var all []*ir.Value
	for _, w := range s.defined() {
		if w != v && alike(w.Type, v.Type) {
			all = append(all, w)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[r.Intn(len(all))]
}

func (s site) remove() { s.f.Ops = slices.Delete(s.f.Ops, s.i, s.i+1) }

// replaceAfter has the operations after i, and the results, read w for v.
func (s site) replaceAfter(v, w *ir.Value) {
	for _, o := range s.f.Ops[s.i+1:] {
		for j, a := range o.Args {
			if a == v {
				o.Args[j] = w
			}
		}
	}
	for j := range s.f.Results {
		if s.f.Results[j].Value == v {
			s.f.Results[j].Value = w
		}
	}
}

// twin is the message at the other end of o, in the program of its peer.
func twin(m *ir.Module, s site) (site, bool) {
	o := s.op()
	for _, g := range Entries(m) {
		if g.Of != s.f.Of || int64(g.Stage.Or(-1)) != o.Attrs.Int("peer", -2) {
			continue
		}
		for i, p := range g.Ops {
			if message(p) && p.Name != o.Name && p.Attrs.Int("tag", -1) == o.Attrs.Int("tag", -2) && p.Attrs.Int("peer", -1) == int64(s.f.Stage.Or(-2)) {
				return site{g, i}, true
			}
		}
	}
	return site{}, false
}

// two picks two different operations of one function for which is holds, the
// first before the second.
func two(r *rand.Rand, m *ir.Module, is func(o *ir.Op) bool) (site, site, bool) {
	a, ok := one(r, m, is)
	if !ok {
		return a, a, false
	}
	var rest []int
	for i, o := range a.f.Ops {
		if i != a.i && is(o) {
			rest = append(rest, i)
		}
	}
	if len(rest) == 0 {
		return a, a, false
	}
	b := site{a.f, rest[r.Intn(len(rest))]}
	if b.i < a.i {
		a, b = b, a
	}
	return a, b, true
}

func set(o *ir.Op, key string, v ir.AttrVal) { o.Attrs = o.Attrs.With(key, v) }

// swapAttr exchanges an attribute of two operations; false if it is the same.
func swapAttr(a, b *ir.Op, key string) bool {
	x, y := a.Attrs.Get(key), b.Attrs.Get(key)
	if x == nil || y == nil || x.String() == y.String() {
		return false
	}
	set(a, key, y)
	set(b, key, x)
	return true
}

// Restate writes the states that follow from operands into the types of all
// results, as far as any follow: what a mistake looks like when the pass that
// made it believes in it.
func Restate(m *ir.Module) {
	for _, f := range m.Funcs {
		for _, o := range f.Ops {
			if op.Of(o).Class == op.Control {
				continue
			}
			if types, err := op.States(o); err == nil {
				for i, r := range o.Results {
					for j := range r.Type.Axes {
						r.Type.Axes[j].Mesh = types[i].Axes[j].Mesh
					}
					r.Type.Partial = types[i].Partial
				}
			}
		}
	}
}
