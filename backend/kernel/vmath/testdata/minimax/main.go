// Command minimax prints the polynomial coefficients of package vmath.
//
// Each is a weighted least-squares fit on Chebyshev nodes whose weights are
// multiplied by the error until it is level (Lawson's iteration, "Contributions
// to the theory of linear least maximum approximation", 1961), which converges
// to the minimax polynomial. Coefficients are then rounded to float32.
package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// fit approximates f on [lo, hi] by n coefficients in powers of p(x), minimizing
// the largest weight(x)·error(x).
func fit(name string, n int, lo, hi float64, p, f, weight func(float64) float64) {
	const nodes = 600
	x, lawson := make([]float64, nodes), make([]float64, nodes)
	for i := range x {
		x[i] = (lo+hi)/2 + (hi-lo)/2*math.Cos(math.Pi*(float64(i)+0.5)/nodes)
		lawson[i] = 1
	}
	var c mat.VecDense
	worst := 0.0
	for range 200 {
		a, b := mat.NewDense(nodes, n, nil), mat.NewVecDense(nodes, nil)
		for i, xi := range x {
			w := weight(xi) * math.Sqrt(lawson[i])
			for j, q := 0, w; j < n; j, q = j+1, q*p(xi) {
				a.Set(i, j, q)
			}
			b.SetVec(i, w*f(xi))
		}
		if err := c.SolveVec(a, b); err != nil {
			panic(err)
		}
		worst = 0
		sum := 0.0
		for i, xi := range x {
			e := math.Abs(weight(xi) * (eval(c.RawVector().Data, p(xi)) - f(xi)))
			worst = max(worst, e)
			lawson[i] *= e
			sum += lawson[i]
		}
		for i := range lawson {
			lawson[i] *= nodes / sum
		}
	}
	fmt.Printf("%s: error %.2g = 2^%.1f\n", name, worst, math.Log2(worst))
	for _, v := range c.RawVector().Data {
		fmt.Printf("\t%v,\n", float32(v))
	}
}

func eval(c []float64, x float64) float64 {
	y := 0.0
	for i := len(c) - 1; i >= 0; i-- {
		y = y*x + c[i]
	}
	return y
}

func main() {
	id := func(x float64) float64 { return x }
	square := func(x float64) float64 { return x * x }
	tiny := 1e-3 // the left end of intervals whose quotient is 0/0 at 0

	half := math.Ln2/2 + 1e-3
	fit("exp: (e^r - 1 - r)/r^2", 5, -half, half, id,
		func(r float64) float64 { return guard(r, 0.5, (math.Expm1(r)-r)/(r*r)) },
		func(r float64) float64 { return r * r / math.Exp(r) })
	fit("log: (log(1+f) - f + f^2/2)/f^3", 9, math.Sqrt2/2-1, math.Sqrt2-1, id,
		func(f float64) float64 { return guard(f, 1.0/3-f/4, (math.Log1p(f)-f+f*f/2)/(f*f*f)) },
		func(f float64) float64 {
			return f * f * math.Max(math.Abs(f), 1e-3) / math.Abs(math.Log1p(f)+1e-30) * math.Abs(f)
		})
	fit("tanh: (tanh x / x - 1)/x^2", 5, tiny, 0.65, square,
		func(x float64) float64 { return (math.Tanh(x)/x - 1) / (x * x) },
		func(x float64) float64 { return x * x * x / math.Tanh(x) })
	fit("erf, small: (erf x / x - 2/sqrt(pi))/x^2", 7, tiny, 1.32, square,
		func(x float64) float64 { return (math.Erf(x)/x - 2/math.Sqrt(math.Pi)) / (x * x) },
		func(x float64) float64 { return x * x * x / math.Erf(x) })
	fit("erf, large, in powers of (x - 2.61)/1.31", 13, 1.28, 3.92,
		func(x float64) float64 { return (x - 2.61) / 1.31 }, math.Erf,
		func(x float64) float64 { return 1 / math.Erf(x) })
	quarter := math.Pi/4 + 1e-3
	fit("sin: (sin r / r - 1)/r^2", 3, tiny, quarter, square,
		func(r float64) float64 { return (math.Sin(r)/r - 1) / (r * r) },
		func(r float64) float64 { return r * r * r / math.Sin(r) })
	fit("cos: (cos r - 1 + r^2/2)/r^4", 3, 0.02, quarter, square,
		func(r float64) float64 { return (math.Cos(r) - 1 + r*r/2) / (r * r * r * r) },
		func(r float64) float64 { return r * r * r * r / math.Cos(r) })
}

// guard is limit near 0, where the quotient y loses its digits.
func guard(x, limit, y float64) float64 {
	if math.Abs(x) < 1e-4 {
		return limit
	}
	return y
}
