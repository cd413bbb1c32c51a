package op

import (
	"math/rand"

	"ptc/ir"
	"ptc/ir/tensor"
)

// Random examples for derived tests. Sizes are small and often divisible by
// 2 and 4, so that most factors can be sharded; sizes 1 and 3 occur.

var (
	sampleNames = []string{"batch", "seq", "embed", "heads", "head", "ffn", "vocab"}
	sampleSizes = []int{1, 2, 3, 4, 4, 8}
)

// sampleAxes is n axes with distinct names.
func sampleAxes(r *rand.Rand, n int) []ir.Axis {
	var axes []ir.Axis
	for _, i := range r.Perm(len(sampleNames))[:n] {
		axes = append(axes, ir.Axis{Name: sampleNames[i], Size: sampleSizes[r.Intn(len(sampleSizes))]})
	}
	return axes
}

// someOf is a random subset in random order.
func someOf(r *rand.Rand, axes []ir.Axis) []ir.Axis {
	var out []ir.Axis
	for _, i := range r.Perm(len(axes)) {
		if r.Intn(3) > 0 {
			out = append(out, axes[i])
		}
	}
	return out
}

// shuffled is the axes in random order.
func shuffled(r *rand.Rand, axes []ir.Axis) []ir.Axis {
	out := make([]ir.Axis, len(axes))
	for i, j := range r.Perm(len(axes)) {
		out[i] = axes[j]
	}
	return out
}

func axisNames(axes []ir.Axis) ir.Names { return ir.Type{Axes: axes}.Names() }

func typed(d ir.DType, axes []ir.Axis) ir.Type {
	return ir.Type{DType: d, Axes: cloneAxes(axes...)}
}

// filled draws each element.
func filled(t ir.Type, draw func() float64) *tensor.Tensor {
	x := tensor.New(t)
	for i := range x.Data {
		x.Data[i] = draw()
	}
	return x
}

// between draws from [lo, hi].
func between(r *rand.Rand, lo, hi float64) func() float64 {
	return func() float64 { return lo + (hi-lo)*r.Float64() }
}

// away draws from ±[lo, hi].
func away(r *rand.Rand, lo, hi float64) func() float64 {
	return func() float64 {
		v := lo + (hi-lo)*r.Float64()
		if r.Intn(2) == 0 {
			return -v
		}
		return v
	}
}

// whole draws integers from lo up to and including hi.
func whole(r *rand.Rand, lo, hi int) func() float64 {
	return func() float64 { return float64(lo + r.Intn(hi-lo+1)) }
}

// draw is a drawer of values for the dtype: ±[lo, hi] for floats.
func draw(r *rand.Rand, d ir.DType, lo, hi float64) func() float64 {
	switch least, most := d.Bounds(); {
	case d.IsFloat():
		return away(r, lo, hi)
	default:
		return whole(r, int(max(least, -9)), int(min(most, 9)))
	}
}

// sampleDType is one of the set: mostly f32.
func (k kinds) sample(r *rand.Rand) ir.DType {
	switch {
	case k&floats != 0 && (k == floats || r.Intn(4) > 0):
		return ir.F32
	case k&ints != 0 && (k&bools == 0 || r.Intn(2) == 0):
		return ir.I32
	}
	return ir.Bool
}

// anyTensor is a tensor of random axes, at least min and at most 3.
func anyTensor(r *rand.Rand, d ir.DType, min int) *tensor.Tensor {
	return filled(typed(d, sampleAxes(r, min+r.Intn(4-min))), draw(r, d, 0.1, 2))
}

// alignedPair is the axes of two operands that overlap at random.
func alignedPair(r *rand.Rand) (x, y []ir.Axis) {
	all := sampleAxes(r, r.Intn(4))
	if r.Intn(3) == 0 {
		return all, all
	}
	return someOf(r, all), someOf(r, all)
}
