// Package sweep is the arithmetic of `ptc sweep`: which points a sweep has, and what
// came of them.
//
// In come axes such as lr=1e-3,3e-3 and seed=1..3, and later the results of points; out
// come the points, every combination of values in an order of their own, and tables of
// the results as text, CSV and JSON.
//
// The invariant: point K is the same for the same axes, so that separate jobs may run
// one each; a result says of which settings and which model it is, so that it is never
// taken for another's.
//
// It imports internal/regular and runtime/checkpoint/atomicfile.
package sweep
