package tiletest

import (
	"fmt"

	"ptc/backend/tile"
	"ptc/ir"
	"ptc/ir/op"
	"ptc/ir/tensor"
)

func (m *machine) op(o *tile.Op) error {
	switch o.Kind {
	case tile.For:
		return m.loop(o)
	case tile.If:
		return m.branch(o)
	case tile.Copy:
		return m.issue(o)
	case tile.Wait:
		return m.wait(o)
	case tile.Store, tile.Scatter:
		return m.store(o)
	}
	x, err := m.compute(o)
	if err != nil {
		return err
	}
	m.round(o, x)
	m.env[o.Result()] = &value{Tensor: x}
	return nil
}

// compute is the elements of o's result, before rounding.
func (m *machine) compute(o *tile.Op) (*tensor.Tensor, error) {
	t, err := m.typeOf(o.Result().Type)
	if err != nil {
		return nil, err
	}
	if o.Kind == tile.Load {
		places, err := m.places(o)
		if err != nil {
			return nil, err
		}
		return m.load(o, places)
	}
	in, err := m.readAll(o.Args)
	if err != nil {
		return nil, err
	}
	switch o.Kind {
	case tile.Const:
		out := tensor.New(t)
		for i := range out.Data {
			out.Data[i] = o.Const
		}
		return out, nil
	case tile.First:
		return tensor.Scalar(ir.I32, float64(m.at[o.Range])), nil
	case tile.Last:
		return tensor.Scalar(ir.I32, float64(m.at[o.Range]+m.present(o.Range)-1)), nil
	case tile.Index:
		at, err := m.numbers(tile.At(o.Range), o.Result().Type.Dims)
		out := tensor.New(t)
		for i := range at {
			out.Data[i] = float64(at[i])
		}
		return out, err
	case tile.Repeat:
		out := tensor.New(t)
		tensor.CopyStrided(tensor.Sizes(t.Axes), out.Data, t.Strides(), in[0].Data, tensor.AlignedStrides(in[0].Type, t.Axes))
		return out, nil
	case tile.Random:
		return m.random(o, t, in)
	case tile.Dot:
		return m.dot(o, t, in)
	}
	return m.row(o, string(o.Kind), t, in)
}

// row computes by the row of ir/op.
func (m *machine) row(o *tile.Op, name string, t ir.Type, in []*tensor.Tensor) (*tensor.Tensor, error) {
	attrs := o.Attrs()
	if len(o.Over) > 0 || o.Kind == tile.Dot {
		over := ir.Names{}
		for _, r := range o.Over {
			if r.Size > 1 {
				over = append(over, r.Name)
			}
		}
		attrs = ir.A("over", over, "out", ir.Names(t.Names()))
	}
	call := &ir.Op{Name: name, Attrs: attrs, Results: []*ir.Value{{Type: t}}}
	for _, x := range in {
		call.Args = append(call.Args, &ir.Value{Type: x.Type})
	}
	out, err := op.Lookup(name).Eval(&op.Context{}, call, in)
	if err != nil {
		return nil, err
	}
	if len(out) != 1 || len(out[0].Data) != t.Elems() {
		return nil, fmt.Errorf("%s gives no tensor %s", name, t)
	}
	return &tensor.Tensor{Type: t, Data: out[0].Data}, nil
}

func (m *machine) dot(o *tile.Op, t ir.Type, in []*tensor.Tensor) (*tensor.Tensor, error) {
	out, err := m.row(o, op.Dot, t, in[:2])
	if err != nil || len(in) == 2 {
		return out, err
	}
	for i, x := range in[2].Data {
		out.Data[i] += x
	}
	return out, nil
}

func (m *machine) random(o *tile.Op, t ir.Type, in []*tensor.Tensor) (*tensor.Tensor, error) {
	at, err := m.numbers(o.At[0], o.Result().Type.Dims)
	if err != nil {
		return nil, err
	}
	out := tensor.New(t)
	word := func(i int) int32 { return int32(in[i].Data[0]) }
	for i, e := range at {
		b := tensor.Bits(word(0), word(1), uint64(uint32(word(2))), uint64(e))
		if out.Data[i] = tensor.Uniform(b); o.Normal {
			out.Data[i] = tensor.Normal(b)
		}
	}
	return out, nil
}

// round makes x what the registers or the memory of the result hold. x may share
// storage with an operand.
func (m *machine) round(o *tile.Op, x *tensor.Tensor) {
	d := o.Result().Type.DType
	if m.opt.Exact || !d.IsFloat() {
		return
	}
	to := d.Acc()
	if o.Result().Type.Space == tile.Shared || o.Kind == op.Cast && o.Args[0].Type.DType != d {
		to = d
	}
	x.Data = append([]float64(nil), x.Data...)
	to.Round(x.Data)
}

// stored is y as memory of dtype d holds it.
func (m *machine) stored(d ir.DType, y float64) float64 {
	if m.opt.Exact || !d.IsFloat() {
		return y
	}
	one := [1]float64{y}
	d.Round(one[:])
	return one[0]
}
