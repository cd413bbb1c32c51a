package passtest

import (
	"math/rand"
	"slices"

	"ptc/ir"
)

// place is an offset that a planned module gives: of an argument, or of a
// result of an operation.
type place struct {
	arg  *ir.Arg
	op   *ir.Op
	j    int
	size int
}

func places(m *ir.Module) []place {
	var out []place
	for _, f := range Entries(m) {
		for _, a := range f.Args {
			out = append(out, place{arg: a, size: a.Value.Type.Bytes()})
		}
		for _, o := range f.Ops {
			for j, v := range o.Results {
				out = append(out, place{op: o, j: j, size: v.Type.Bytes()})
			}
		}
	}
	return out
}

func (p place) get() int64 {
	if p.arg != nil {
		return p.arg.At.Bytes()
	}
	return p.op.At[p.j]
}

func (p place) set(at int64) {
	if p.arg != nil {
		p.arg.At = ir.OffsetOf(at)
		return
	}
	all := slices.Clone(p.op.At)
	all[p.j] = at
	p.op.At = all
}

func somePlace(r *rand.Rand, m *ir.Module) place {
	all := places(m)
	return all[r.Intn(len(all))]
}

// Places are mutations of the memory of ir(Planned).
var Places = []Mutation{
	{"shift a buffer", func(r *rand.Rand, m *ir.Module) bool {
		p := somePlace(r, m)
		p.set(p.get() + 64*int64(1+r.Intn(4))*int64(1-2*r.Intn(2)))
		return true
	}},
	{"move a buffer to another's place", func(r *rand.Rand, m *ir.Module) bool {
		p, q := somePlace(r, m), somePlace(r, m)
		if p.get() == q.get() {
			return false
		}
		p.set(q.get())
		return true
	}},
	{"exchange two buffers", func(r *rand.Rand, m *ir.Module) bool {
		p, q := somePlace(r, m), somePlace(r, m)
		x, y := p.get(), q.get()
		p.set(y)
		q.set(x)
		return x != y
	}},
	{"exchange two buffers of one size", func(r *rand.Rand, m *ir.Module) bool {
		p, q := somePlace(r, m), somePlace(r, m)
		for i := 0; i < 20 && (p.size != q.size || (p.arg == nil) != (q.arg == nil)); i++ {
			q = somePlace(r, m)
		}
		x, y := p.get(), q.get()
		if x == y || p.size != q.size {
			return false
		}
		p.set(y)
		q.set(x)
		return true
	}},
	{"another arena", func(r *rand.Rand, m *ir.Module) bool {
		fs := Entries(m)
		f := fs[r.Intn(len(fs))]
		f.Attrs = f.Attrs.With("arena", ir.Int(f.Attrs.Int("arena", 0)+64*int64(1+r.Intn(4))*int64(1-2*r.Intn(2))))
		return true
	}},
	{"a exchange in another place", func(r *rand.Rand, m *ir.Module) bool {
		s, ok := one(r, m, exchange)
		if !ok {
			return false
		}
		p := place{op: s.op()}
		p.set(somePlace(r, m).get())
		return true
	}},
}
