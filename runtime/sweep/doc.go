// Package sweep is the arithmetic of `ptc sweep`: the points of a sweep, and their
// results.
//
// In come axes such as lr=1e-3,3e-3 and seed=1..3, and later the results of points; out
// come the points, every combination of values in a fixed order, and tables of
// the results as text, CSV and JSON.
//
// The invariant: point K is the same for the same axes, so separate jobs may run
// one each; a result records its settings and its model, so it is never mistaken for
// another's.
//
// It imports internal/regular and runtime/checkpoint/atomicfile.
package sweep
