package main

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// fitting is a problem of least absolute deviations: parameters for which predictions are near what was measured.
type fitting struct {
	start  []float64 // parameters, all positive
	lo, hi []float64
	// deviations are the logarithms of predicted over measured, by row.
	deviations func(parameters []float64) ([]float64, error)
}

const (
	fitRounds = 16
	nudge     = 0.05 // of a parameter, in its logarithm, for a derivative
	stride    = 0.7  // the most by which a parameter changes in a round, in its logarithm
	flat      = 0.02 // deviations below this count by their squares
)

// solve goes from the start by Levenberg and Marquardt's steps, with weights that make the sum of squares one of absolute values
// (iteratively reweighted least squares).
func (f *fitting) solve() ([]float64, error) {
	at, damping := slices.Clone(f.start), 0.01
	have, err := f.deviations(at)
	if err != nil {
		return nil, err
	}
	for range fitRounds {
		slopes, err := f.slopes(at, have)
		if err != nil {
			return nil, err
		}
		before := loss(have)
		for range 4 {
			next := f.moved(at, f.step(at, have, slopes, damping))
			d, err := f.deviations(next)
			if err != nil {
				return nil, err
			}
			if loss(d) < before {
				at, have, damping = next, d, damping/4
				break
			}
			damping *= 8
		}
		if loss(have) > before*(1-1e-3) {
			break
		}
	}
	return at, nil
}

// slopes are the derivatives of deviations by the logarithms of parameters.
func (f *fitting) slopes(at, have []float64) (*mat.Dense, error) {
	a := mat.NewDense(len(have), len(at), nil)
	for j := range at {
		step := make([]float64, len(at))
		step[j] = nudge
		if f.moved(at, step)[j] == at[j] {
			step[j] = -nudge
		}
		next := f.moved(at, step)
		d, err := f.deviations(next)
		if err != nil {
			return nil, err
		}
		for i := range have {
			a.Set(i, j, (d[i]-have[i])/math.Log(next[j]/at[j]))
		}
	}
	return a, nil
}

// step is by how much the logarithms of parameters change. Those that would leave their bounds stay, and the others make up for it.
func (f *fitting) step(at, have []float64, slopes *mat.Dense, damping float64) []float64 {
	k := len(at)
	out, fixed := make([]float64, k), make([]bool, k)
	for range k {
		solved := f.free(have, slopes, damping, fixed)
		again := false
		for j, x := range solved {
			out[j] = min(max(x, -stride), stride)
			if to := at[j] * math.Exp(out[j]); !fixed[j] && (at[j] <= f.lo[j] && to < at[j] || at[j] >= f.hi[j] && to > at[j]) {
				fixed[j], again = true, true
			}
		}
		if !again {
			break
		}
	}
	return out
}

// free solves for the parameters that are not fixed.
func (f *fitting) free(have []float64, slopes *mat.Dense, damping float64, fixed []bool) []float64 {
	n, k := slopes.Dims()
	a, b := mat.NewDense(n+k, k, nil), mat.NewVecDense(n+k, nil)
	for j := range k {
		sum := 0.0
		for i := range n {
			if !fixed[j] {
				v := slopes.At(i, j) * weight(have[i])
				a.Set(i, j, v)
				sum += v * v
			}
		}
		a.Set(n+j, j, math.Sqrt(damping*sum+1e-6*float64(n)))
	}
	for i := range n {
		b.SetVec(i, -have[i]*weight(have[i]))
	}
	var x mat.VecDense
	if err := x.SolveVec(a, b); err != nil {
		return make([]float64, k) // a singular matrix: nothing changes
	}
	return x.RawVector().Data
}

// weight is that of a deviation.
func weight(d float64) float64 { return 1 / math.Sqrt(max(math.Abs(d), flat)) }

// loss is what solve makes small.
func loss(deviations []float64) (sum float64) {
	for _, d := range deviations {
		if d = math.Abs(d); d < flat {
			d = d*d/flat/2 + flat/2
		}
		sum += d
	}
	return sum
}

// moved are parameters with other logarithms, within their bounds.
func (f *fitting) moved(at, step []float64) []float64 {
	out := make([]float64, len(at))
	for i := range at {
		out[i] = min(max(at[i]*math.Exp(step[i]), f.lo[i]), f.hi[i])
	}
	return out
}

// errors are the shares by which predictions differ from what was measured.
func errorsOf(predicted, measured []float64) []float64 {
	out := make([]float64, len(predicted))
	for i := range out {
		out[i] = predicted[i]/measured[i] - 1
	}
	return out
}

// summary is the mean, the median and the largest of the sizes of errors.
func summary(errs []float64) (mean, median, most float64) {
	sizes := make([]float64, len(errs))
	for i, e := range errs {
		sizes[i] = math.Abs(e)
		mean += sizes[i] / float64(len(errs))
	}
	slices.Sort(sizes)
	n := len(sizes)
	return mean, (sizes[(n-1)/2] + sizes[n/2]) / 2, sizes[n-1]
}
