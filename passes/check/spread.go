package check

import (
	"maps"
	"math"
	"math/bits"
	"slices"

	"ptc/ir"
	"ptc/ir/eval"
	"ptc/ir/layout"
	"ptc/ir/tensor"
)

// deviations is how many of its standard deviations a result may be away from the exact
// one. Sums of many independent roundings are nearly normal, and so beyond six of its
// standard deviations a result is once in 5·10⁸.
const deviations = 6

// mostSamples estimate a standard deviation. A distance in units of the estimate has Student's
// distribution with as many degrees of freedom, which is beyond six with 8 samples once in
// 3·10³, with 16 once in 5·10⁴ and with 32 once in 10⁶. Only what is near the limit takes them.
const mostSamples = 32

// spread is how far rounding takes losses and gradients of a module from the exact ones. A
// fixed part of a result's norm is no measure of that: the gradient of what drops out of
// the loss is zero, and all that it has of a norm is rounding; others are small sums of
// large terms.
//
// It is measured on the module's own values: a sample is one execution that rounds each
// value to as many digits as its dtype has, on a grid that is shifted at random (a form of
// Parker, "Monte Carlo Arithmetic", 1997). The range of a dtype has no part in it, nor has
// a dtype that nothing asks for. So what overflows, what is lost below the least number of
// a dtype, and what is rounded without being asked, is beyond the spread.
type spread struct {
	m      *ir.Module
	digits map[ir.DType]int
	// squares are the sums over the samples of squared distances.
	squares map[string]map[Key]float64
	samples int
	// partial says that partial values alone are rounded, and rest is the spread of all other roundings.
	partial bool
	rest    *spread
}

// newSpread is the spread of m, of which nothing is measured yet. Narrow dtypes are asked
// for by the precision of m, or by what is written in it.
func newSpread(m *ir.Module, written map[ir.DType]bool) (*spread, error) {
	rule, err := layout.PrecisionOf(m)
	if err != nil {
		return nil, err
	}
	s := &spread{m: m, digits: map[ir.DType]int{ir.F32: digitsOf(ir.F32)}, squares: map[string]map[Key]float64{}}
	for d := range narrow(m) {
		s.digits[d] = digitsOf(ir.F32)
		if d == rule.Compute || d == rule.Params || d == rule.Reduce || d.IsScaled() && rule.Products != "" || written[d] {
			s.digits[d] = digitsOf(d)
		}
	}
	return s, nil
}

// ofParts is the spread of what the devices of m round before they add it up, in the dtypes that are asked
// for here: values that are partial over a mesh axis. It is the other part of the spread of m's results,
// as no module without devices rounds these, and where parts cancel, their roundings are large compared with the sum's.
func (s *spread) ofParts(m *ir.Module) *spread {
	return &spread{m: m, digits: s.digits, partial: true, squares: map[string]map[Key]float64{}, rest: s}
}

// digitsOf are the binary digits of d's significand, with the leading one.
func digitsOf(d ir.DType) int {
	_, mantissa := d.Masks()
	return bits.Len64(mantissa) + 1
}

// sample measures once more. Multiples of the golden ratio are spread evenly, however many
// there are.
func (s *spread) sample(in Inputs, exact Outcome) error {
	s.samples++
	_, part := math.Modf(float64(s.samples) * math.Phi)
	by := math.Exp2(part)
	out, err := ExecuteBy(s.m, in, eval.Options{Round: func(t ir.Type, x []float64) {
		n, ok := s.digits[t.DType]
		switch {
		case s.partial && (len(t.Partial) == 0 || !ok):
		case ok:
			roundTo(x, n, by)
		default:
			t.DType.Round(x)
		}
	}})
	if err != nil {
		return err
	}
	for f, r := range exact {
		if s.squares[f] == nil {
			s.squares[f] = map[Key]float64{}
		}
		for k, x := range r {
			if !rounds(k) {
				continue
			}
			d := distance(x, out[f][k])
			s.squares[f][k] += d * d
		}
	}
	return nil
}

// limit is how far result k of f may be from the exact one, of that norm. What float64
// leaves undecided is no distance.
func (s *spread) limit(f string, k Key, norm float64) float64 {
	return deviations*math.Sqrt(s.variance(f, k)) + TolExact*norm
}

// variance is the mean of the squared distances. Roundings of different values are independent, and so
// their variances add up.
func (s *spread) variance(f string, k Key) float64 {
	v := s.squares[f][k] / float64(s.samples)
	if s.rest != nil {
		v += s.rest.variance(f, k)
	}
	return v
}

// roundTo rounds to so many binary digits, in units of 1/by. The errors are as large as
// those of rounding to a dtype, and others for each by. As there, equal numbers have equal
// errors, which add up wherever they are used, and a number that is rounded stays.
func roundTo(x []float64, digits int, by float64) {
	for i, v := range x {
		if v == 0 || v-v != 0 {
			continue
		}
		_, e := math.Frexp(v * by)
		unit := math.Ldexp(1, e-digits)
		x[i] = math.RoundToEven(v*by/unit) * unit / by
	}
}

// rounds reports whether result k is compared as dtypes round. Optimizer states and what
// follows from them are not: a sign that rounding turned changes a whole update.
func rounds(k Key) bool { return k.Role == ir.RoleLoss || k.Role == ir.RoleGrad }

// compare adds to row how far the results of m are from the exact ones, and is content
// where none is beyond the spread. Worst is the one that is nearest to its limit, or most
// beyond.
func (s *spread) compare(row *Row, exact, got Outcome) {
	row.Compared, row.OK = 0, true
	worst := -1.0
	for _, f := range slices.Sorted(maps.Keys(exact)) {
		for _, k := range sortedKeys(exact[f]) {
			if !rounds(k) {
				continue
			}
			row.Compared++
			x, y := exact[f][k], got[f][k]
			norm, d := normOf(x), math.Inf(1)
			limit := s.limit(f, k, norm)
			if y != nil {
				d, norm = distance(x, y), math.Max(norm, normOf(y))
			}
			ok := d <= limit
			row.OK = row.OK && ok
			share := 0.0
			if d > 0 {
				share = d / limit // infinite, or no number, if nothing is allowed
			}
			if !ok && share-share != 0 {
				share = math.Inf(1)
			}
			if share > worst {
				worst = share
				row.Worst, row.Diff, row.Tol = "@"+f+" "+k.String(), finite(d/norm), finite(limit/norm)
			}
		}
	}
}

// explain compares as [spread.compare] does, and takes samples until they explain the distance, as
// most passes take one.
func (s *spread) explain(row *Row, in Inputs, exact, got Outcome) error {
	if s.samples > 0 {
		s.compare(row, exact, got)
	}
	for !row.OK && s.samples < mostSamples {
		if err := s.sample(in, exact); err != nil {
			return err
		}
		s.compare(row, exact, got)
	}
	return nil
}

// finite is a number that JSON can say.
func finite(x float64) float64 {
	if x != x { // nothing of nothing
		return 0
	}
	return math.Min(x, math.MaxFloat64)
}

// distance is the Euclidean distance of the elements that are finite in x; infinite where
// another one is not what it is in x.
func distance(x, y *tensor.Tensor) float64 {
	if len(x.Data) != len(y.Data) {
		return math.Inf(1)
	}
	sum := 0.0
	for i, v := range x.Data {
		w := y.Data[i]
		switch {
		case v == w || v != v && w != w:
		case v-v != 0 || w-w != 0:
			return math.Inf(1)
		default:
			sum += (v - w) * (v - w)
		}
	}
	return math.Sqrt(sum)
}

// normOf is the Euclidean norm of the elements that are finite.
func normOf(x *tensor.Tensor) float64 {
	sum := 0.0
	for _, v := range x.Data {
		if v-v == 0 {
			sum += v * v
		}
	}
	return math.Sqrt(sum)
}
