// Package assign decides where the tiles of a phase are, before any code is made.
//
// In: a phase of a tile program, how many lanes and warps a block of threads has, and which arguments its
// buffers are. Out: a [Phase], which is only read from then on: the layout of each tile that is in one of its own,
// as sums and what loops carry (the others take the layout of their reader); what multiplies, and how its operands
// lie in shared memory; which loops copy ahead; in which slices stores compute; whether warps are specialized or
// the blocks of a cluster share a task.
//
// The steps are those of lowering, in its order: sizes (tiles.go), products and their operands (product.go, multiply.go),
// addresses (strides.go, tensor.go), loops (pipeline.go, loop.go), reductions and stores (reduce.go, store.go), and the walk
// over the phase (phase.go, share.go).
//
// Layouts have a power of two of each dimension. Elements beyond the block, or beyond the end of the axis, do not
// exist; a product narrower than a matrix instruction reads zeros there.
//
// Invariant: the same program, threads and arguments give the same decisions; a program for which there is no
// code is an error here, and lowering has none of its own.
// Imports backend/tile, backend/tile/schedule, backend/elementwise, backend/kernel, backend/gpu/layout, ir.
package assign
