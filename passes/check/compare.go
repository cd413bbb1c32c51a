package check

import (
	"math"

	"ptc/ir/tensor"
)

// Results are the results of one function by key.
type Results map[Key]*tensor.Tensor

// noise is the part of the largest result of the same role below which a
// result is compared absolutely: a gradient that is zero in exact arithmetic
// is rounding noise, and differs wholly from one order of sums to another.
const noise = 1e-6

// Diff is the largest difference of a result in a relative to its norm, and
// that result; infinite where b lacks it.
func Diff(a, b Results) (worst Key, diff float64) {
	scale := map[string]float64{} // root mean square by role
	for k, x := range a {
		scale[k.Role] = math.Max(scale[k.Role], rms(x.Data))
	}
	for _, k := range sortedKeys(a) {
		x, y := a[k], b[k]
		if y == nil {
			return k, math.Inf(1)
		}
		d := tensor.RelDiff(x, y)
		if floor := noise * scale[k.Role]; d > 0 && !math.IsInf(d, 0) && floor > 0 {
			if size := math.Max(rms(x.Data), rms(y.Data)); size < floor {
				d *= size / floor
			}
		}
		if d > diff || worst == (Key{}) {
			worst, diff = k, d
		}
	}
	return worst, diff
}

// rms is the root mean square of the finite elements.
func rms(x []float64) float64 {
	sum, n := 0.0, 0
	for _, v := range x {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			sum += v * v
			n++
		}
	}
	return math.Sqrt(sum / float64(max(n, 1)))
}
