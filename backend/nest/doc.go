// Package nest generates tile programs of fused kernels: one nest for all classes.
//
// In: a kernel as ir/fusion analyzes it, and a schedule. Out: a tile.Program whose
// arguments are the function's arguments, then its results.
// Invariant: for every schedule the program computes what the reference evaluator
// computes for the function, up to the rounding of reordered sums.
//
// How: axes that every view has next to each other become one (dims.go). The grid and
// loops bring ranges along axes; a value is computed where it is demanded, from what
// is at those ranges, in the outermost block that has all of them, so that what does
// not vary in a loop is before it (value.go). Reductions, products and scatters are
// roots: the nest opens loops over what they sum, and carries their tiles. One file per
// shape of the nest: map.go, row.go, column.go, pieces.go, gemm.go, scatter.go. That of
// an attention (attention.go) is not cut: how its scores are folded is the lowering's.
// How processors cut the others is in choose.go.
//
// For blocks of threads, which have few scores at a time, an attention is folded here
// (fold.go, fold_operands.go): tasks of rows sum over keys (fold_rows.go), tasks of keys over rows
// (fold_keys.go), and masks that compare positions bound their loops (fold_limits.go,
// fold_bounds.go). How a GPU cuts that is in threads_attend.go, and the others in
// threads.go.
//
// Imports ir, ir/op, ir/fusion, backend/tile, backend/tile/schedule.
package nest
