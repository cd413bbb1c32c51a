// Package elementwise has the elementwise operations of tiles as arithmetic of
// backend/kernel, for vectors of processors and for threads of GPUs alike.
//
// In: an operation of backend/tile and its operands. Out: statements on a builder.
// Invariant: it has every operation that ir/op calls elementwise (a test of each target
// generates them all); numbers of low precision are computed with in f32, and rounded by casts.
// Imports backend/kernel, backend/tile, ir, ir/op.
package elementwise
