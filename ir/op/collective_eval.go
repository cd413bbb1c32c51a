package op

import (
	"fmt"
	"math/rand"

	"ptc/ir"
	"ptc/ir/tensor"
)

// exchange is what all devices of the group have for mine along mesh axis m.
func exchange(c *Context, o *ir.Op, m string, mine *tensor.Tensor) ([]*tensor.Tensor, error) {
	if c.meshSize(m) == 1 {
		return []*tensor.Tensor{mine}, nil
	}
	if c.Gather == nil {
		return nil, fmt.Errorf("op: %s over mesh axis `%s` is evaluated only on simulated devices", o.Name, m)
	}
	return c.Gather(o, m, mine)
}

// groupPart is this device's place in the group and the group's size.
func groupPart(c *Context, o *ir.Op) (at, n int, err error) {
	n = 1
	for _, m := range o.Attrs.Names("over") {
		at = at*c.meshSize(m) + c.Coord[m]
		n *= c.meshSize(m)
	}
	if o.Attrs.Has("parts") && n != int(o.Attrs.Int("parts", 0)) {
		return 0, 0, fmt.Errorf("op: %s is among %d devices, on a mesh where they are %d", o.Name, o.Attrs.Int("parts", 0), n)
	}
	return at, n, nil
}

// reduceGroup combines the group's values in coordinate order.
func reduceGroup(c *Context, o *ir.Op, x *tensor.Tensor) (*tensor.Tensor, error) {
	f := func(a, b float64) float64 { return a + b }
	if o.Attrs.Text("reduce") == "max" {
		f = func(a, b float64) float64 { return max(a, b) }
	}
	for _, m := range o.Attrs.Names("over") {
		all, err := exchange(c, o, m, x)
		if err != nil {
			return nil, err
		}
		x = all[0]
		for _, y := range all[1:] {
			x = map2(x.Type, x, y, f)
		}
	}
	return x, nil
}

// gatherGroup joins the group's parts of axis, the last mesh axis first: the
// later ones are minor.
func gatherGroup(c *Context, o *ir.Op, x *tensor.Tensor, axis string) (*tensor.Tensor, error) {
	over := o.Attrs.Names("over")
	for i := len(over) - 1; i >= 0; i-- {
		all, err := exchange(c, o, over[i], x)
		if err != nil {
			return nil, err
		}
		at, size := x.Type.Index(axis), x.Type.Size(axis)
		out := tensor.New(resized(x.Type, at, size*len(all)))
		for j, y := range all {
			place(out, y, axis, j*size)
		}
		x = out
	}
	return x, nil
}

// as is x with the result's type, which has the same axes and sizes.
func as(t ir.Type, x *tensor.Tensor) ([]*tensor.Tensor, error) { return results(x.Reordered(t)) }

// exchangeEach exchanges one operand of a bucket after the other.
func exchangeEach(args []*tensor.Tensor, f func(i int, x *tensor.Tensor) (*tensor.Tensor, error)) ([]*tensor.Tensor, error) {
	out := make([]*tensor.Tensor, len(args))
	for i, x := range args {
		var err error
		if out[i], err = f(i, x); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func evalAllReduce(c *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return exchangeEach(args, func(i int, x *tensor.Tensor) (*tensor.Tensor, error) {
		x, err := reduceGroup(c, o, x)
		if err != nil {
			return nil, err
		}
		return x.Reordered(o.Results[i].Type), nil
	})
}

func evalAllGather(c *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if _, _, err := groupPart(c, o); err != nil {
		return nil, err
	}
	return exchangeEach(args, func(i int, x *tensor.Tensor) (*tensor.Tensor, error) {
		x, err := gatherGroup(c, o, x, axisOf(o.Attrs, i))
		if err != nil {
			return nil, err
		}
		return x.Reordered(o.Results[i].Type), nil
	})
}

// ownPart is this device's part of x along axis, as the result.
func ownPart(c *Context, o *ir.Op, x *tensor.Tensor, axis string) ([]*tensor.Tensor, error) {
	at, _, err := groupPart(c, o)
	if err != nil {
		return nil, err
	}
	t := o.Result().Type
	return results(part(t, x, axis, at*t.Size(axis)))
}

func evalReduceScatter(c *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	at, _, err := groupPart(c, o)
	if err != nil {
		return nil, err
	}
	return exchangeEach(args, func(i int, x *tensor.Tensor) (*tensor.Tensor, error) {
		x, err := reduceGroup(c, o, x)
		if err != nil {
			return nil, err
		}
		t, axis := o.Results[i].Type, axisOf(o.Attrs, i)
		return part(t, x, axis, at*t.Size(axis)), nil
	})
}

func evalAllToAll(c *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	x, err := gatherGroup(c, o, args[0], o.Attrs.Text("axis"))
	if err != nil {
		return nil, err
	}
	return ownPart(c, o, x, o.Attrs.Text("to"))
}

func evalPermute(c *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	at, n, err := groupPart(c, o)
	if err != nil {
		return nil, err
	}
	sources, err := Sources(o, c.meshSize)
	if err != nil {
		return nil, err
	}
	if len(sources) != n {
		return nil, fmt.Errorf("op: permute names %d sources for a group of %d devices", len(sources), n)
	}
	all, err := exchangeAll(c, o, args[0])
	if err != nil {
		return nil, err
	}
	if s := sources[at]; s >= 0 {
		return as(o.Result().Type, all[s])
	}
	return results(tensor.New(o.Result().Type))
}

// exchangeAll is what all devices of the group have for mine, the last mesh axis
// being the minor one.
func exchangeAll(c *Context, o *ir.Op, mine *tensor.Tensor) ([]*tensor.Tensor, error) {
	over, all := o.Attrs.Names("over"), []*tensor.Tensor{mine}
	for i := len(over) - 1; i >= 0; i-- {
		size := c.meshSize(over[i])
		more := make([]*tensor.Tensor, size*len(all))
		for k, x := range all {
			got, err := exchange(c, o, over[i], x)
			if err != nil {
				return nil, err
			}
			for j, y := range got {
				more[j*len(all)+k] = y
			}
		}
		all = more
	}
	return all, nil
}

func evalShardSlice(c *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	return ownPart(c, o, args[0], o.Attrs.Text("axis"))
}

// sampleCollective makes operands for a group of two devices on mesh axis d:
// the first axis is even, and axes are not sharded yet.
func sampleCollective(attrs ir.Attrs, axis, to bool) func(*rand.Rand) Example {
	return func(r *rand.Rand) Example {
		axes := sampleAxes(r, 2+r.Intn(2))
		axes[0].Size, axes[1].Size = 4, 2
		e := Example{Attrs: attrs}
		if axis {
			e.Attrs = e.Attrs.With("axis", ir.Name(axes[0].Name))
		}
		if to {
			e.Attrs = e.Attrs.With("to", ir.Name(axes[1].Name))
		}
		e.Args = []*tensor.Tensor{filled(typed(ir.F32, shuffled(r, axes)), away(r, 0.1, 2))}
		return e
	}
}
