package tiletest

import (
	"fmt"

	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/tensor"
)

// copying is a copy under way.
type copying struct {
	op   *tile.Op
	from []int64 // elements that it reads
	late bool    // it reads them when it is waited for
}

// axes are the dimensions as a tensor has them: existing positions alone.
func (m *machine) axes(dims []*tile.Range) []ir.Axis {
	out := make([]ir.Axis, len(dims))
	for i, d := range dims {
		out[i] = ir.Axis{Name: d.Name, Size: int(m.present(d))}
	}
	return out
}

// typeOf is the type of a tensor that holds a tile of type t here.
func (m *machine) typeOf(t tile.Type) (ir.Type, error) {
	out := ir.Type{DType: t.DType, Axes: m.axes(t.Dims)}
	n := 1
	for _, a := range out.Axes {
		if n *= a.Size; n > maxElements {
			return out, fmt.Errorf("a tile %s has more than %d elements; no more are interpreted", t, maxElements)
		}
	}
	return out, nil
}

// numbers evaluates x at each combination of existing positions of dims, in row-major
// order.
func (m *machine) numbers(x tile.Affine, dims []*tile.Range) ([]int64, error) {
	axes := m.axes(dims)
	t := ir.Type{Axes: axes}
	out := make([]int64, t.Elems())
	base := x.Const
	add := func(strides []int, value func(i int) int64) {
		tensor.Walk(tensor.Sizes(axes), [][]int{t.Strides(), strides}, func(at, step []int, n int) {
			for j := range n {
				out[at[0]+j*step[0]] += value(at[1] + j*step[1])
			}
		})
	}
	for _, term := range x.Terms {
		if term.Value != nil {
			v, err := m.read(term.Value)
			if err != nil {
				return nil, err
			}
			add(tensor.AlignedStrides(v.Type, axes), func(i int) int64 { return term.Coef * int64(v.Data[i]) })
			continue
		}
		base += term.Coef * m.at[term.Range]
		if one := (ir.Type{Axes: m.axes([]*tile.Range{term.Range})}); term.Range.Size > 1 {
			add(tensor.AlignedStrides(one, axes), func(i int) int64 { return term.Coef * int64(i) })
		}
	}
	for i := range out {
		out[i] += base
	}
	return out, nil
}

// places are the elements of the buffer that o accesses, in row-major order of its
// span; -1 where a position that was looked up is out of range.
func (m *machine) places(o *tile.Op) ([]int64, error) {
	v := o.View
	dims := o.Span()
	if _, err := m.typeOf(tile.Type{Dims: dims}); err != nil {
		return nil, err
	}
	var out []int64
	for i, a := range v.Axes {
		at, err := m.numbers(o.At[i], dims)
		if err != nil {
			return nil, err
		}
		looked := false
		for _, t := range o.At[i].Terms {
			looked = looked || t.Value != nil
		}
		if out == nil {
			out = make([]int64, len(at))
			for k := range out {
				out[k] = int64(v.Offset)
			}
		}
		for k, p := range at {
			switch {
			case out[k] < 0:
			case p >= 0 && p < int64(a.Size):
				out[k] += p * int64(a.Stride)
			case looked:
				out[k] = -1
			default:
				return nil, fmt.Errorf("position %d along %s of %s, which has %d", p, a.Name, v.Name, a.Size)
			}
		}
	}
	if out == nil { // a view without axes
		out = []int64{int64(v.Offset)}
	}
	return out, nil
}

// load reads the elements at places, of the type of o's result.
func (m *machine) load(o *tile.Op, places []int64) (*tensor.Tensor, error) {
	t, err := m.typeOf(o.Result().Type)
	if err != nil {
		return nil, err
	}
	out := tensor.New(t)
	mem := m.mem[o.View.Buffer]
	for k, i := range places {
		if i < 0 {
			continue
		}
		if err := mem.read(i, m.me); err != nil {
			return nil, fmt.Errorf("%s: %w", o.View.Buffer.Name, err)
		}
		out.Data[k] = mem.Data[i]
	}
	return out, nil
}

// issue starts a copy. It may have been issued when an earlier iteration began, as the
// loop's stages say: what it reads has not been written since.
func (m *machine) issue(o *tile.Op) error {
	places, err := m.places(o)
	if err != nil {
		return err
	}
	x, err := m.load(o, places)
	if err != nil {
		return err
	}
	since := m.now
	if n := len(m.runs); n > 0 {
		it := m.runs[n-1]
		since = it.began[max(0, len(it.began)-it.stages)]
	}
	mem := m.mem[o.View.Buffer]
	for _, i := range places {
		if i < 0 {
			continue
		}
		c := &mem.cells[i]
		if c.wrote == m.me && c.time > since {
			return fmt.Errorf("%s: element %d is written after the copy may have been issued, %d stages ahead", o.View.Buffer.Name, i, m.runs[len(m.runs)-1].stages)
		}
		c.copies++
	}
	m.env[o.Result()] = &value{Tensor: x, copy: &copying{o, places, m.r.Intn(2) == 0}}
	return nil
}

// wait ends a copy.
func (m *machine) wait(o *tile.Op) error {
	x := m.env[o.Args[0]]
	if x == nil {
		return fmt.Errorf("a copy is waited for where it is not: not yet, or no longer")
	}
	if x.copy == nil {
		return nil
	}
	c := x.copy
	mem := m.mem[c.op.View.Buffer]
	for _, i := range c.from {
		if i >= 0 {
			mem.cells[i].copies--
		}
	}
	if c.late {
		var err error
		if x.Tensor, err = m.load(c.op, c.from); err != nil {
			return err
		}
	}
	x.copy = nil
	return nil
}

// store writes or adds the elements of o's operand to their places.
func (m *machine) store(o *tile.Op) error {
	places, err := m.places(o)
	if err != nil {
		return err
	}
	x, err := m.read(o.Args[0])
	if err != nil {
		return err
	}
	b := o.View.Buffer
	mem := m.mem[b]
	axes := m.axes(o.Span())
	from := make([]int, len(places))
	tensor.Walk(tensor.Sizes(axes), [][]int{ir.Type{Axes: axes}.Strides(), tensor.AlignedStrides(x.Type, axes)}, func(at, step []int, n int) {
		for j := range n {
			from[at[0]+j*step[0]] = at[1] + j*step[1]
		}
	})
	for k, i := range places {
		if i < 0 {
			continue
		}
		y := x.Data[from[k]]
		if o.Kind == tile.Scatter {
			if err := mem.read(i, m.me); err != nil {
				return fmt.Errorf("%s: %w", b.Name, err)
			}
			if y += mem.Data[i]; b.DType.IsInt() {
				y = float64(int32(int64(y)))
			}
			m.now++ // one element after the other: several may go to one place
		}
		if err := mem.write(i, m.me, m.now); err != nil {
			return fmt.Errorf("%s: %w", b.Name, err)
		}
		mem.Data[i] = m.stored(b.DType, y)
	}
	return nil
}
