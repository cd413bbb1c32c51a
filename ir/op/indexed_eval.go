package op

import (
	"math/rand"

	"ptc/ir"
	"ptc/ir/tensor"
)

// ruleGather: a device with a part of the looked-up axis finds 0 for the
// positions of others, so the sum over devices is the whole.
func ruleGather(o *ir.Op) Rule {
	axis := o.Attrs.Text("axis")
	return named(o, func(n string) role {
		if n == axis {
			return sums
		}
		return passes
	})
}

// ruleScatterAdd: the looked-up axis is the result's alone and free, as a
// device drops the positions of others; index axes that the result lacks are
// summed.
func ruleScatterAdd(o *ir.Op) Rule {
	t := o.Result().Type
	return named(o, func(n string) role {
		if !t.Has(n) {
			return sums
		}
		return passes
	})
}

// lookedUp is the axis of t that o looks up.
func lookedUp(o *ir.Op, t ir.Type) ir.Axis { return t.Axes[t.Index(o.Attrs.Text("axis"))] }

func evalGather(c *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	x, idx, t := args[0], args[1], o.Result().Type
	a := lookedUp(o, x.Type)
	stride := x.Type.Strides()[x.Type.Index(a.Name)]
	off := c.Offset(a)
	out := tensor.New(t)
	tensor.Walk(tensor.Sizes(t.Axes), aligned(t, x, idx), func(at, step []int, n int) {
		d := out.Data[at[0] : at[0]+n]
		for j := range d {
			p := int(idx.Data[at[2]+j*step[2]]) - off
			if p >= 0 && p < a.Size {
				d[j] = x.Data[at[1]+j*step[1]+p*stride]
			}
		}
	})
	return results(out)
}

func evalScatterAdd(c *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	upd, idx, t := args[0], args[1], o.Result().Type
	a := lookedUp(o, t)
	stride := t.Strides()[t.Index(a.Name)]
	off := c.Offset(a)
	out := tensor.New(t)
	axes := upd.Type.Axes
	strides := [][]int{tensor.AlignedStrides(t, axes), upd.Type.Strides(), tensor.AlignedStrides(idx.Type, axes)}
	tensor.Walk(tensor.Sizes(axes), strides, func(at, step []int, n int) {
		for j := 0; j < n; j++ {
			p := int(idx.Data[at[2]+j*step[2]]) - off
			if p >= 0 && p < a.Size {
				out.Data[at[0]+j*step[0]+p*stride] += upd.Data[at[1]+j*step[1]]
			}
		}
	})
	if t.DType.IsInt() {
		for i, v := range out.Data {
			out.Data[i] = wrap(v)
		}
	}
	return results(out)
}

// sampleLookup is axes of a table, one of which is looked up, and of an index
// that shares some of the others. Positions out of range occur.
func sampleLookup(r *rand.Rand) (table []ir.Axis, axis ir.Axis, idx *tensor.Tensor) {
	axes := sampleAxes(r, 4)
	table = axes[:1+r.Intn(3)]
	axis = table[0]
	at := append(someOf(r, table[1:]), someOf(r, axes[3:])...)
	idx = filled(typed(ir.I32, shuffled(r, at)), whole(r, -1, axis.Size))
	return shuffled(r, table), axis, idx
}

func sampleGather(r *rand.Rand) Example {
	table, axis, idx := sampleLookup(r)
	d := anyType.sample(r)
	return Example{
		Args:  []*tensor.Tensor{filled(typed(d, table), draw(r, d, 0.1, 2)), idx},
		Attrs: ir.A("axis", ir.Name(axis.Name)),
	}
}

func sampleScatterAdd(r *rand.Rand) Example {
	table, axis, idx := sampleLookup(r)
	t := typed(numbers.sample(r), table)
	upd, _ := align([]ir.Type{idx.Type, t.Drop(axis.Name)})
	return Example{
		Args:  []*tensor.Tensor{filled(typed(t.DType, shuffled(r, upd)), draw(r, t.DType, 0.1, 2)), idx},
		Attrs: ir.A("axis", ir.Name(axis.Name), "out", sizesOf(t)),
	}
}
