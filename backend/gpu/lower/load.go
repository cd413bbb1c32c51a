package lower

import (
	"slices"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/kernel"
	"ptc/backend/tile"
)

func init() {
	computes[tile.Load], computes[tile.Copy], computes[tile.Random] = (*values).load, (*values).load, (*values).random
}

// access is how threads reach the elements of a tile in memory: those of a register, if they exist.
type access struct {
	*assign.Strides
	s      *values
	o      *tile.Op
	dims   []*tile.Range
	at     *layout.Layout
	index  kernel.Index              // of register 0, but for positions that are looked up
	exists func(r int) *thread.Value // nil where all do
	base   thread.Pointer            // from open on
	n      int                       // registers that one access reaches
}

// access is how o accesses a tile of dims in a layout.
func (s *values) access(o *tile.Op, dims []*tile.Range, at *layout.Layout) *access {
	x := &access{Strides: assign.StridesOf(o, dims, at), s: s, o: o, dims: dims, at: at}
	x.n = x.Width(s.args[o.View.Buffer].Elem)
	x.index = s.index(o, x.Strides, at)
	x.exists = s.exists(at, dims)
	return x
}

// open computes the address of register 0.
func (x *access) open() *access {
	x.base = x.s.At(x.s.args[x.o.View.Buffer].Pointer, x.index)
	return x
}

// index is that in its buffer of register 0 of a layout in which o accesses a tile, but for positions that are looked up.
func (s *values) index(o *tile.Op, by *assign.Strides, at *layout.Layout) kernel.Index {
	sum := kernel.Int(int64(o.View.Offset))
	for i, a := range o.View.Axes {
		if assign.IsLooked(o.At[i]) {
			continue
		}
		sum = sum.Plus(o.At[i].Const * int64(a.Stride))
		for _, t := range o.At[i].Terms {
			sum = sum.Add(kernel.Of(s.Convert(s.first[t.Range], kernel.I64)).Mul(t.Coef * int64(a.Stride)))
		}
	}
	for d, n := range by.Each {
		if n != 0 {
			sum = sum.Add(kernel.Of(s.Convert(s.coordinate(at, d), kernel.I64)).Mul(n))
		}
	}
	return sum
}

// of is where the element of register r is, and whether it exists there and once holds, which may be nil.
func (x *access) of(r int, once *thread.Value) (thread.Pointer, *thread.Value) {
	in, to := once, x.base
	if x.exists != nil {
		in = x.s.both(x.exists(r), once)
	}
	if x.Looked {
		more, inside := x.lookup(r)
		to, in = x.s.At(to, more), x.s.both(in, inside)
	}
	return x.s.At(to, kernel.Int(x.Offset(r))), in
}

// lookup is the part of the index of axes whose position is looked up, and whether all are in range.
func (x *access) lookup(r int) (sum kernel.Index, inside *thread.Value) {
	s := x.s
	for i, a := range x.o.View.Axes {
		if !assign.IsLooked(x.o.At[i]) {
			continue
		}
		j := s.i32(x.o.At[i].Const)
		for _, t := range x.o.At[i].Terms {
			j = s.Add(j, s.Mul(s.term(t, x.dims, x.at, r), s.i32(t.Coef)))
		}
		inside = s.both(inside, s.And(s.Le(s.i32(0), j), s.Lt(j, s.i32(int64(a.Size)))))
		sum = sum.Add(kernel.Of(s.Convert(j, kernel.I64)).Mul(int64(a.Stride)))
	}
	return sum, inside
}

// term is the position of a term, or its element of a tile, for register r of a layout of dims.
func (s *values) term(t tile.Term, dims []*tile.Range, at *layout.Layout, r int) *thread.Value {
	if t.Value != nil {
		return s.part(t.Value, dims, at)(r)
	}
	return s.at(t.Range, dims, at, r)
}

// load is zero where nothing exists, but for padding that comes with elements.
func (s *values) load(o *tile.Op, at *layout.Layout) []*thread.Value {
	x := s.access(o, o.Result().Type.Dims, at).open()
	out := make([]*thread.Value, 0, at.Regs())
	for r := 0; r < at.Regs(); r += x.n {
		from, in := x.of(r, nil)
		out = append(out, s.LoadGlobal(from, thread.Access{N: x.n, If: in})...)
	}
	return out
}

// preload executes those of the loads that v is made of for which wanted holds, and computes nothing.
func (s *values) preload(v *tile.Value, at *layout.Layout, wanted func(o *tile.Op) bool) {
	switch o := v.Def; {
	case s.phase.Own(v) != nil || o == nil:
	case o.Kind == tile.Load || o.Kind == tile.Copy:
		if wanted(o) && !slices.ContainsFunc(o.At, assign.IsLooked) {
			s.value(v, at)
		}
	case o.Kind == tile.Repeat || elementwise.Known(o.Kind):
		for _, a := range o.Args {
			mine, _ := assign.Part(a, v.Type.Dims, at)
			s.preload(a, mine, wanted)
		}
	}
}

// random is Philox at the elements' numbers, as ir/tensor.Bits has it.
func (s *values) random(o *tile.Op, at *layout.Layout) []*thread.Value {
	dims := o.Result().Type.Dims
	out := make([]*thread.Value, at.Regs())
	for r := range out {
		e := kernel.Int(o.At[0].Const)
		for _, t := range o.At[0].Terms {
			e = e.Add(kernel.Of(s.Convert(s.term(t, dims, at, r), kernel.I64)).Mul(t.Coef))
		}
		out[r] = elementwise.Random(s.Builder.Builder, o.Normal, s.Value(e), s.scalar(o.Args[0]), s.scalar(o.Args[1]), s.scalar(o.Args[2]))
	}
	return out
}
