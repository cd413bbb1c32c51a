// Package vmath has the functions of f32 that a kernel may call, one row each ([kernel.Math]),
// and expands their calls into arithmetic of the loop/tile form.
//
// In: a kernel. Out: an equal kernel without calls. Each expansion works
// lane by lane, needs no memory or symbol, and is within Bound ulp of the exact
// value over all of f32: subnormal arguments and results are not flushed;
// infinities, zeros and NaN give what package math gives. [ExpNormal] is the
// exponential of softmax, which needs less.
//
// The methods are the usual ones: an argument is reduced to a short interval
// with exact constants split in parts (Cody and Waite, "Software Manual for
// the Elementary Functions", 1980; with FMA, Muller et al., "Handbook of
// Floating-Point Arithmetic", 2nd ed., section 10.2), a polynomial is evaluated
// there, and the reduction is undone. Coefficients come from the program in
// testdata/minimax. Reductions use FMA, never MulAdd, so the results are the
// same on every machine.
//
// It imports package kernel only.
package vmath
