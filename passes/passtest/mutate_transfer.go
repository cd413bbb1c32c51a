package passtest

import (
	"math/rand"
	"slices"

	"ptc/internal/collective"
	"ptc/ir"
	"ptc/ir/op"
)

func pieces(o *ir.Op) bool {
	_, _, _, ok := op.Piece(o)
	return ok
}

func named(name string) func(*ir.Op) bool {
	return func(o *ir.Op) bool { return o.Name == name }
}

// Transfers are mutations of what moves between memories, and of pieces.
var Transfers = []Mutation{
	{"another piece", at(pieces, func(r *rand.Rand, s site) bool {
		axis, from, limit, _ := op.Piece(s.op())
		by := []int64{-1, 1, from - limit, limit - from}[r.Intn(4)]
		if from+by < 0 || limit+by > int64(s.op().Args[0].Type.Size(axis)) {
			return false
		}
		set(s.op(), "from", ir.Int(from+by))
		set(s.op(), "limit", ir.Int(limit+by))
		return true
	})},
	{"concatenate other pieces", at(named(op.ConcatInPlace), func(r *rand.Rand, s site) bool {
		args := s.op().Args
		i := r.Intn(len(args))
		w := s.another(r, args[i], sameShape)
		if r.Intn(2) == 0 {
			w = args[r.Intn(len(args))]
		}
		if w == nil || w == args[i] || !sameShape(w.Type, args[i].Type) {
			return false
		}
		args[i] = w
		return true
	})},
	{"copy to the place of another copy", func(r *rand.Rand, m *ir.Module) bool {
		a, b, ok := two(r, m, named(collective.DeviceToHost))
		if !ok || a.op().At == nil {
			return false
		}
		x, y := slices.Clone(a.op().At), b.op().At
		i, j := r.Intn(len(x)), r.Intn(len(y))
		same := x[i] == y[j]
		x[i] = y[j]
		a.op().At = x
		return !same
	}},
	{"copy to another memory", at(named(collective.DeviceToHost), func(_ *rand.Rand, s site) bool {
		to := ir.Host
		if s.op().Memory == ir.Host {
			to = ir.Disk
		}
		s.op().Memory = to
		return true
	})},
	{"an argument in another memory", func(r *rand.Rand, m *ir.Module) bool {
		fs := Entries(m)
		f := fs[r.Intn(len(fs))]
		a := f.Args[r.Intn(len(f.Args))]
		was := a.Memory
		a.Memory = ir.Memories()[r.Intn(3)]
		return a.Memory != was
	}},
	{"drop a transfer", at(copies, dropped)},
	{"exchange two transfers", swapped(copies)},
	{"exchange the operands of two transfers", crossed(func(o *ir.Op) bool { return op.Has(o, op.Copies|op.Views) })},
	{"a transfer at another time", at(func(o *ir.Op) bool { return op.Has(o, op.Copies) || dones(o) }, moved)},
	{"wait at once, or not at all", at(copies, func(_ *rand.Rand, s site) bool {
		s.op().Start = !s.op().Start
		return true
	})},
}
