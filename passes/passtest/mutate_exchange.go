package passtest

import (
	"math/rand"
	"slices"

	"ptc/ir"
	"ptc/ir/op"
)

// Exchanges are mutations of collectives, messages, order and operands, for
// modules from ir(Local) on.
var Exchanges = []Mutation{
	{"drop a collective", at(exchange, dropped)},
	{"drop a exchange and give its operand its type", at(exchange, func(r *rand.Rand, s site) bool {
		if !sameShape(s.op().Args[0].Type, s.op().Results[0].Type) {
			return false
		}
		for i, a := range s.op().Args {
			a.Type = s.op().Results[i].Type.Clone()
		}
		return dropped(r, s)
	})},
	{"do a exchange twice", func(r *rand.Rand, m *ir.Module) bool {
		// A started one is done twice once it is done.
		s, ok := one(r, m, func(o *ir.Op) bool {
			x := started(o)
			return (exchange(o) && !o.Start || dones(o)) && x != nil && len(x.Args) > 0 && sameShape(x.Args[0].Type, o.Results[0].Type)
		})
		if !ok {
			return false
		}
		o := s.op()
		again := s.f.NewOp(started(o).Name, slices.Clone(o.Results), started(o).Attrs, ir.CloneTypes(o.Results)...)
		again.At, again.Wait = slices.Clone(started(o).At), started(o).Wait
		if o.At != nil {
			again.At = slices.Clone(o.At)
		}
		s.f.Ops = slices.Insert(s.f.Ops, s.i+1, again)
		for i, v := range o.Results {
			site{s.f, s.i + 1}.replaceAfter(v, again.Results[i])
		}
		return true
	}},
	{"move a collective", at(exchange, moved)},
	{"exchange two collectives", swapped(exchange)},
	{"exchange the operands of two collectives", crossed(exchange)},
	{"exchange two operands of a bucket", at(buckets, func(r *rand.Rand, s site) bool {
		args := s.op().Args
		i, j := r.Intn(len(args)), r.Intn(len(args))
		args[i], args[j] = args[j], args[i]
		return i != j
	})},
	{"drop an operand of a bucket", at(buckets, func(r *rand.Rand, s site) bool {
		i := r.Intn(len(s.op().Args))
		return unbucketed(s, i)
	})},
	{"drop the end of a collective", at(dones, dropped)},
	{"move the end of a collective", at(dones, moved)},
	{"start a exchange, or not", at(exchange, func(_ *rand.Rand, s site) bool {
		s.op().Start = !s.op().Start
		return true
	})},
	{"another group", func(r *rand.Rand, m *ir.Module) bool { return regrouped(r, m, false) }},
	{"another group, and types as if it were right", func(r *rand.Rand, m *ir.Module) bool { return regrouped(r, m, true) }},
	{"another number of parts", at(func(o *ir.Op) bool { return exchange(o) && o.Attrs.Has("parts") }, func(r *rand.Rand, s site) bool {
		set(s.op(), "parts", ir.Int(s.op().Attrs.Int("parts", 1)+int64(1+r.Intn(2))*int64(1-2*r.Intn(2))))
		return true
	})},
	{"another axis", at(func(o *ir.Op) bool { return exchange(o) && o.Attrs.Has("axis") }, func(r *rand.Rand, s site) bool {
		names := s.op().Args[0].Type.Names()
		if len(names) == 0 {
			return false
		}
		axis := names[r.Intn(len(names))]
		old := s.op().Attrs.Text("axis")
		set(s.op(), "axis", ir.Name(axis))
		return axis != old
	})},
	{"another reduction", func(r *rand.Rand, m *ir.Module) bool { return otherwise(r, m, false) }},
	{"another reduction, and types as if it were right", func(r *rand.Rand, m *ir.Module) bool { return otherwise(r, m, true) }},
	{"drop a send or a receive", at(message, dropped)},
	{"drop a message", func(r *rand.Rand, m *ir.Module) bool {
		s, ok := one(r, m, sends)
		if !ok {
			return false
		}
		t, ok := twin(m, s)
		if !ok || !dropped(r, t) {
			return false
		}
		s.remove()
		return true
	}},
	{"send or receive twice", at(message, func(_ *rand.Rand, s site) bool {
		o := s.op()
		again := s.f.NewOp(o.Name, slices.Clone(o.Args), o.Attrs, ir.CloneTypes(o.Results)...)
		s.f.Ops = slices.Insert(s.f.Ops, s.i+1, again)
		return true
	})},
	{"send another value", at(sends, func(r *rand.Rand, s site) bool {
		w := s.another(r, s.op().Args[0], ir.Type.Equal)
		if w != nil {
			s.op().Args[0] = w
		}
		return w != nil
	})},
	{"exchange two receives' values", func(r *rand.Rand, m *ir.Module) bool {
		a, b, ok := two(r, m, receives)
		if !ok || !a.op().Result().Type.Equal(b.op().Result().Type) {
			return false
		}
		x, y := a.op().Result(), b.op().Result()
		for _, o := range b.f.Ops[b.i+1:] {
			for j, v := range o.Args {
				if v == x {
					o.Args[j] = y
				} else if v == y {
					o.Args[j] = x
				}
			}
		}
		return true
	}},
	{"exchange two tags", func(r *rand.Rand, m *ir.Module) bool {
		a, b, ok := two(r, m, message)
		return ok && a.op().Name == b.op().Name && swapAttr(a.op(), b.op(), "tag")
	}},
	{"another tag", at(message, func(r *rand.Rand, s site) bool {
		set(s.op(), "tag", ir.Int(s.op().Attrs.Int("tag", 0)+int64(1+r.Intn(3))))
		return true
	})},
	{"another peer", at(message, func(r *rand.Rand, s site) bool {
		set(s.op(), "peer", ir.Int((s.op().Attrs.Int("peer", 0)+int64(1+r.Intn(2)))%3))
		return true
	})},
	{"move a message", at(message, moved)},
	{"exchange neighbours", at(anything, func(_ *rand.Rand, s site) bool {
		if s.i+1 == len(s.f.Ops) {
			return false
		}
		s.f.Ops[s.i], s.f.Ops[s.i+1] = s.f.Ops[s.i+1], s.op()
		return true
	})},
	{"exchange two parts of a program", func(r *rand.Rand, m *ir.Module) bool {
		return tries(func() bool {
			s, ok := one(r, m, anything)
			if !ok {
				return false
			}
			cut := []int{r.Intn(len(s.f.Ops) + 1), r.Intn(len(s.f.Ops) + 1), s.i}
			slices.Sort(cut)
			return cut[0] < cut[1] && cut[1] < cut[2] &&
				reordered(s.f, slices.Concat(s.f.Ops[:cut[0]], s.f.Ops[cut[1]:cut[2]], s.f.Ops[cut[0]:cut[1]], s.f.Ops[cut[2]:]))
		})
	}},
	{"exchange two slots", func(r *rand.Rand, m *ir.Module) bool {
		// What is between two messages of a program is a slot, or part of one.
		return tries(func() bool {
			a, b, ok := two(r, m, message)
			if !ok {
				return false
			}
			end := func(i int) int {
				for i++; i < len(a.f.Ops) && !message(a.f.Ops[i]); i++ {
				}
				return i
			}
			i, j := end(a.i), end(b.i)
			return i <= b.i && reordered(a.f, slices.Concat(a.f.Ops[:a.i], a.f.Ops[b.i:j], a.f.Ops[i:b.i], a.f.Ops[a.i:i], a.f.Ops[j:]))
		})
	}},
	{"drop an operation", at(func(o *ir.Op) bool { return computes(o) && len(o.Results) == 1 }, dropped)},
	{"give an operation another operand", at(computes, func(r *rand.Rand, s site) bool {
		j := r.Intn(len(s.op().Args))
		w := s.another(r, s.op().Args[j], ir.Type.Equal)
		if w != nil {
			s.op().Args[j] = w
		}
		return w != nil
	})},
	{"exchange two results", func(r *rand.Rand, m *ir.Module) bool {
		fs := Entries(m)
		f := fs[r.Intn(len(fs))]
		if len(f.Results) < 2 {
			return false
		}
		i, j := r.Intn(len(f.Results)), r.Intn(len(f.Results))
		a, b := f.Results[i].Value, f.Results[j].Value
		if a == b || !a.Type.Equal(b.Type) {
			return false
		}
		f.Results[i].Value, f.Results[j].Value = b, a
		return true
	}},
	{"exchange two programs", func(r *rand.Rand, m *ir.Module) bool {
		fs := Entries(m)
		i := r.Intn(len(fs))
		for j, f := range fs {
			if of := f.Of; j != i && of != "" && of == fs[i].Of {
				f.Stage, fs[i].Stage = fs[i].Stage, f.Stage
				return true
			}
		}
		return false
	}},
	{"another constant", func(r *rand.Rand, m *ir.Module) bool {
		f := m.Funcs[r.Intn(len(m.Funcs))]
		for _, i := range r.Perm(len(f.Ops)) {
			if o := f.Ops[i]; o.Name == op.Const && o.Result().Type.DType.IsFloat() {
				set(o, "value", ir.Float(o.Attrs.Float("value", 0)+0.5))
				return true
			}
		}
		return false
	}},
	{"another kernel", func(r *rand.Rand, m *ir.Module) bool {
		s, ok := one(r, m, func(o *ir.Op) bool { return op.Has(o, op.Calls) })
		if !ok {
			return false
		}
		k := s.op().Callee
		for _, i := range r.Perm(len(m.Funcs)) {
			if g := m.Funcs[i]; g != k && alikeKernels(g, k) {
				s.op().Callee = g
				return true
			}
		}
		return false
	}},
}

func alikeKernels(g, k *ir.Func) bool {
	return g.Class == ir.Kernel &&
		slices.EqualFunc(g.Args, k.Args, func(a, b *ir.Arg) bool { return a.Value.Type.Equal(b.Value.Type) }) &&
		slices.EqualFunc(g.Results, k.Results, func(a, b ir.Result) bool { return a.Value.Type.Equal(b.Value.Type) })
}
