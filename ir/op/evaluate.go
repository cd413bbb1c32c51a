package op

import (
	"ptc/ir"
	"ptc/ir/tensor"
)

// Loops of the reference evaluation, shared by rows.

// evalFunc is the type of [Def.Eval].
type evalFunc = func(c *Context, o *ir.Op, args []*tensor.Tensor) ([]*tensor.Tensor, error)

// results makes the usual result of Eval.
func results(t *tensor.Tensor) ([]*tensor.Tensor, error) { return []*tensor.Tensor{t}, nil }

// aligned is the strides of the operands along the axes of result type t, the
// result's own first.
func aligned(t ir.Type, args ...*tensor.Tensor) [][]int {
	s := [][]int{t.Strides()}
	for _, a := range args {
		s = append(s, tensor.AlignedStrides(a.Type, t.Axes))
	}
	return s
}

// map1 applies f to every element.
func map1(t ir.Type, x *tensor.Tensor, f func(float64) float64) *tensor.Tensor {
	out := tensor.New(t)
	tensor.Walk(tensor.Sizes(t.Axes), aligned(t, x), func(at, step []int, n int) {
		i, s := at[1], step[1]
		for j, d := 0, out.Data[at[0]:at[0]+n]; j < n; j++ {
			d[j] = f(x.Data[i])
			i += s
		}
	})
	return out
}

// map2 applies f to elements of x and y aligned by name.
func map2(t ir.Type, x, y *tensor.Tensor, f func(x, y float64) float64) *tensor.Tensor {
	out := tensor.New(t)
	tensor.Walk(tensor.Sizes(t.Axes), aligned(t, x, y), func(at, step []int, n int) {
		i, k, si, sk := at[1], at[2], step[1], step[2]
		for j, d := 0, out.Data[at[0]:at[0]+n]; j < n; j++ {
			d[j] = f(x.Data[i], y.Data[k])
			i += si
			k += sk
		}
	})
	return out
}

// choose takes x where c is not 0, else y.
func choose(t ir.Type, c, x, y *tensor.Tensor) *tensor.Tensor {
	out := tensor.New(t)
	tensor.Walk(tensor.Sizes(t.Axes), aligned(t, c, x, y), func(at, step []int, n int) {
		d := out.Data[at[0] : at[0]+n]
		for j := range d {
			if c.Data[at[1]+j*step[1]] != 0 {
				d[j] = x.Data[at[2]+j*step[2]]
			} else {
				d[j] = y.Data[at[3]+j*step[3]]
			}
		}
	})
	return out
}

// fold reduces x to type t, which has fewer axes, from the initial value, in
// the order of x's storage.
func fold(t ir.Type, x *tensor.Tensor, initial float64, f func(acc, x float64) float64) *tensor.Tensor {
	out := tensor.New(t)
	for i := range out.Data {
		out.Data[i] = initial
	}
	axes := x.Type.Axes
	strides := [][]int{tensor.AlignedStrides(t, axes), x.Type.Strides()}
	tensor.Walk(tensor.Sizes(axes), strides, func(at, step []int, n int) {
		src := x.Data[at[1] : at[1]+n]
		if step[0] == 0 {
			acc := out.Data[at[0]]
			for _, v := range src {
				acc = f(acc, v)
			}
			out.Data[at[0]] = acc
			return
		}
		d := at[0]
		for _, v := range src {
			out.Data[d] = f(out.Data[d], v)
			d += step[0]
		}
	})
	return out
}

// part copies size elements of axis from start on, as type t.
func part(t ir.Type, x *tensor.Tensor, axis string, start int) *tensor.Tensor {
	out := tensor.New(t)
	src := x.Data[start*x.Type.Strides()[x.Type.Index(axis)]:]
	tensor.CopyStrided(tensor.Sizes(t.Axes), out.Data, t.Strides(), src, tensor.AlignedStrides(x.Type, t.Axes))
	return out
}

// place copies x into out from position start of axis on.
func place(out, x *tensor.Tensor, axis string, start int) {
	at := out.Type.Strides()[out.Type.Index(axis)] * start
	tensor.CopyStrided(tensor.Sizes(x.Type.Axes), out.Data[at:], tensor.AlignedStrides(out.Type, x.Type.Axes), x.Data, x.Type.Strides())
}
