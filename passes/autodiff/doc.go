// Package autodiff expands the symbolic grad operation into the operations
// that compute the gradient, in reverse mode, from the gradients of the op
// rows.
//
// In: a module at level Global, before any layout is known. Out: the same
// level with no grad operation left; the gradient's operations stand where it
// stood.
// Invariant: each emitted operation carries the scope and the position of the
// forward operation that it differentiates, so that later passes put both in
// the same stage and reports name the same line. Adjoints of a value with
// several readers are added in the reverse order of those readers, and tied
// parameters are values with several readers, so the sums are deterministic.
// Imports ir, ir/op, passes/pass.
package autodiff
