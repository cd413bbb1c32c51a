package lower

import (
	"fmt"

	"ptc/backend/elementwise"
	"ptc/backend/gpu/assign"
	"ptc/backend/gpu/layout"
	"ptc/backend/gpu/thread"
	"ptc/backend/tile"
)

// values are tiles in the registers of threads, each computed where and in the layout in which it is demanded.
type values struct {
	cursor
	phase *assign.Phase
	args  map[*tile.Buffer]argument
	maps  []thread.Map
	known []map[key][]*thread.Value // by block of code
}

// argument is what a buffer is: the first of some of the kernel's arguments, or the n-th of the others where its condition
// holds and none behind it does.
type argument struct {
	thread.Pointer
	conds []*thread.Value
}

// key is a value in a layout.
type key struct {
	v *tile.Value
	l string
}

func (s *values) know(v *tile.Value, at *layout.Layout, x []*thread.Value) {
	s.known[len(s.known)-1][key{v, at.String()}] = x
}

// computes are the kinds that are computed where they are demanded, besides elementwise ones.
var computes = map[tile.Kind]func(s *values, o *tile.Op, at *layout.Layout) []*thread.Value{
	tile.Const: (*values).constant,
	tile.Index: (*values).positions,
	tile.First: func(s *values, o *tile.Op, _ *layout.Layout) []*thread.Value {
		return []*thread.Value{s.first[o.Range]}
	},
	tile.Last: func(s *values, o *tile.Op, _ *layout.Layout) []*thread.Value { return []*thread.Value{s.last(o.Range)} },
}

// value is v in the registers of a layout of its dimensions.
func (s *values) value(v *tile.Value, at *layout.Layout) []*thread.Value {
	k := key{v, at.String()}
	for i := len(s.known) - 1; i >= 0; i-- {
		if x := s.known[i][k]; x != nil {
			return x
		}
	}
	var x []*thread.Value
	own, f := s.phase.Own(v), computes[v.Def.Kind]
	switch {
	case own != nil && !own.Equal(at):
		x = s.move(s.value(v, own), v.Type, own, at)
	case own == nil && f != nil:
		x = f(s, v.Def, at)
	case own == nil && (elementwise.Known(v.Def.Kind) || v.Def.Kind == tile.Repeat):
		x = s.elementwise(v.Def, at)
	default:
		s.Fail(fmt.Errorf("found a tile of %s demanded before it is computed", v.Def.Kind))
		x = s.fill(v.Type, at, 0)
	}
	s.know(v, at, x)
	return x
}

// fill is one number in all registers.
func (s *values) fill(t tile.Type, at *layout.Layout, c float64) []*thread.Value {
	out := make([]*thread.Value, at.Regs())
	for i := range out {
		out[i] = s.Const(elementwise.Register(t.DType, 1), c)
	}
	return out
}

func (s *values) constant(o *tile.Op, at *layout.Layout) []*thread.Value {
	return s.fill(o.Result().Type, at, o.Const)
}

func (s *values) positions(o *tile.Op, at *layout.Layout) []*thread.Value {
	first := s.first[o.Range]
	if len(at.Sizes) == 0 {
		return []*thread.Value{first}
	}
	first = s.Add(first, s.coordinate(at, 0))
	out := make([]*thread.Value, at.Regs())
	for r := range out {
		out[r] = s.Add(first, s.i32(int64(at.Offset(r, 0))))
	}
	return out
}

// elementwise computes each register's element of those of the operands.
func (s *values) elementwise(o *tile.Op, at *layout.Layout) []*thread.Value {
	dims := o.Result().Type.Dims
	args := make([]func(r int) *thread.Value, len(o.Args))
	for i, a := range o.Args {
		args[i] = s.part(a, dims, at)
	}
	out := make([]*thread.Value, at.Regs())
	narrow := o.Result().Type.Space == tile.Shared && elementwise.Elem(o.Result().Type.DType).IsNarrow()
	for r := range out {
		x := make([]*thread.Value, len(args))
		for i := range args {
			x[i] = args[i](r)
		}
		if o.Kind == tile.Repeat {
			out[r] = x[0]
		} else {
			out[r] = elementwise.Compute(s.Builder.Builder, o, x)
		}
		if narrow {
			out[r] = s.Round(out[r], elementwise.Elem(o.Result().Type.DType))
		}
	}
	return out
}

// part is v for a reader with the layout at of dims, of which v has some: its element for a register of the reader.
func (s *values) part(v *tile.Value, dims []*tile.Range, at *layout.Layout) func(r int) *thread.Value {
	mine, pick := assign.Part(v, dims, at)
	x := s.value(v, mine)
	return func(r int) *thread.Value { return x[pick(r)] }
}

// scalar is the number that a tile without dimensions is.
func (s *values) scalar(v *tile.Value) *thread.Value {
	return s.value(v, s.phase.Natural(nil))[0]
}

// all is the registers of values, one behind the other.
func (s *values) all(vs []*tile.Value, at []*layout.Layout) (flat []*thread.Value) {
	for i, v := range vs {
		flat = append(flat, s.value(v, at[i])...)
	}
	return flat
}

// spread says that values are in flat, as all has them.
func (s *values) spread(vs []*tile.Value, at []*layout.Layout, flat []*thread.Value) {
	for i, v := range vs {
		n := at[i].Regs()
		s.know(v, at[i], flat[:n])
		flat = flat[n:]
	}
}

// complete is v with a number where it does not exist.
func (s *values) complete(v *tile.Value, at *layout.Layout, none float64) []*thread.Value {
	x := s.value(v, at)
	in := s.exists(at, v.Type.Dims)
	if in == nil {
		return x
	}
	out := make([]*thread.Value, len(x))
	for r, y := range x {
		out[r] = s.Select(in(r), y, s.Const(y.Type, none))
	}
	return out
}
