// Package formula is arithmetic of named numbers as text: what a compilation leaves to
// be computed when the numbers are known, such as `1 - beta1` or `max(warmup, 1)`.
//
// In come text, or the nodes of an expression one by one, and later the values of its
// names; out come text and a number.
//
// The invariant: Parse(x.String()) is x, and Eval of it is, to the bit, what the
// language computes of the same numbers when it compiles: in float64, one rounding for
// each operation. Text may come from a file that nobody vouches for, so that its size
// and depth are bounded.
//
// It imports nothing of ours.
package formula
