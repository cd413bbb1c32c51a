package tensor

import "slices"

import "ptc/ir"

// AlignedStrides is the distances in elements between neighbours of a tensor
// of type t along each of axes, by name: 0 along an axis that t lacks.
func AlignedStrides(t ir.Type, axes []ir.Axis) []int {
	own := t.Strides()
	s := make([]int, len(axes))
	for i, a := range axes {
		if j := t.Index(a.Name); j >= 0 {
			s[i] = own[j]
		}
	}
	return s
}

// Sizes is the sizes of axes.
func Sizes(axes []ir.Axis) []int {
	s := make([]int, len(axes))
	for i, a := range axes {
		s[i] = a.Size
	}
	return s
}

// Walk visits an index space of the given sizes in row-major order, for
// several operands at once: strides[k] are operand k's strides. It calls run
// for each stretch of n indices, in which operand k's elements are at[k],
// at[k]+step[k], … The stretches are as long as the strides allow, so that
// operands of one layout are visited in a single one. run must not keep at or
// step.
func Walk(sizes []int, strides [][]int, run func(at, step []int, n int)) {
	dims, st := coalesce(sizes, strides)
	if slices.Contains(dims, 0) {
		return
	}
	k := len(strides)
	at, step := make([]int, k), make([]int, k)
	last := len(dims) - 1
	if last < 0 {
		run(at, step, 1)
		return
	}
	for j := range step {
		step[j] = st[j][last]
	}
	idx := make([]int, last)
	for {
		run(at, step, dims[last])
		d := last - 1
		for ; d >= 0; d-- {
			idx[d]++
			for j := range at {
				at[j] += st[j][d]
			}
			if idx[d] < dims[d] {
				break
			}
			idx[d] = 0
			for j := range at {
				at[j] -= dims[d] * st[j][d]
			}
		}
		if d < 0 {
			return
		}
	}
}

// coalesce drops dimensions of size 1 and joins neighbours that every operand
// steps through evenly.
func coalesce(sizes []int, strides [][]int) (dims []int, st [][]int) {
	st = make([][]int, len(strides))
	for d, n := range sizes {
		if n == 1 {
			continue
		}
		last := len(dims) - 1
		join := last >= 0
		for j := range strides {
			join = join && st[j][last] == strides[j][d]*n
		}
		if join {
			dims[last] *= n
			for j := range strides {
				st[j][last] = strides[j][d]
			}
			continue
		}
		dims = append(dims, n)
		for j := range strides {
			st[j] = append(st[j], strides[j][d])
		}
	}
	return dims, st
}

// CopyStrided copies the elements of an index space from src to dst, each
// with its own strides.
func CopyStrided(sizes []int, dst []float64, dstStrides []int, src []float64, srcStrides []int) {
	Walk(sizes, [][]int{dstStrides, srcStrides}, func(at, step []int, n int) {
		d, s := at[0], at[1]
		switch {
		case step[0] == 1 && step[1] == 1:
			copy(dst[d:d+n], src[s:s+n])
		case step[0] == 1 && step[1] == 0:
			v, out := src[s], dst[d:d+n]
			for i := range out {
				out[i] = v
			}
		default:
			for i := 0; i < n; i++ {
				dst[d] = src[s]
				d += step[0]
				s += step[1]
			}
		}
	})
}

// Reordered is t's elements as type to, which has the same axes by name in
// any order, and may have more (t is repeated along those).
func (t *Tensor) Reordered(to ir.Type) *Tensor {
	out := New(to)
	CopyStrided(Sizes(to.Axes), out.Data, to.Strides(), t.Data, AlignedStrides(t.Type, to.Axes))
	return out
}

// Clone is a copy that shares nothing with t.
func (t *Tensor) Clone() *Tensor {
	return &Tensor{Type: t.Type.Clone(), Data: append([]float64(nil), t.Data...)}
}
