package tensor

import "math"

// RelDiff is the difference of two tensors relative to their size: the
// Euclidean norm of a-b over the larger of the norms of a and b; 0 where both
// are zero. Equal infinities, and NaN with NaN, count as no difference;
// otherwise a number that is not finite in either, or axes that differ in
// name, order or size, make it infinite.
func RelDiff(a, b *Tensor) float64 {
	if !a.Type.SameAxes(b.Type) || len(a.Data) != len(b.Data) {
		return math.Inf(1)
	}
	return RelDiffOf(a.Data, b.Data)
}

// RelDiffOf is [RelDiff] of bare elements.
func RelDiffOf(a, b []float64) float64 {
	// Scaled by the largest magnitude, so that squares neither overflow nor
	// vanish.
	scale := 0.0
	for i, x := range a {
		y := b[i]
		if x == y || x != x && y != y {
			if !math.IsInf(x, 0) && x == x {
				scale = math.Max(scale, math.Abs(x))
			}
			continue
		}
		if math.IsInf(x, 0) || math.IsInf(y, 0) || x != x || y != y {
			return math.Inf(1)
		}
		scale = math.Max(scale, math.Max(math.Abs(x), math.Abs(y)))
	}
	if scale == 0 {
		return 0
	}
	var diff, na, nb float64
	for i, x := range a {
		y := b[i]
		if math.IsInf(x, 0) || x != x {
			continue
		}
		x, y = x/scale, y/scale
		diff += (x - y) * (x - y)
		na += x * x
		nb += y * y
	}
	return math.Sqrt(diff / math.Max(na, nb))
}
