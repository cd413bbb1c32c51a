// Package elementwise writes the elementwise operations of tiles as statements of
// backend/kernel, for vectors of processors and for threads of GPUs alike.
//
// In: an operation of backend/tile and its operands. Out: statements on a builder: the form
// that this package has for it, or a call of the function of backend/kernel/vmath that has its name.
// Invariant: it has every operation that ir/op calls elementwise (a test of each target
// generates them all); numbers of low precision are computed in f32, and rounded by casts.
// Imports backend/kernel, backend/kernel/vmath, backend/tile, ir, ir/op, ir/tensor.
package elementwise
