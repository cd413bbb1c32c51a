// Package nest generates tile programs of fused kernels: one nest for all classes.
//
// In: a kernel as ir/fusion analyzes it, and a schedule. Out: a tile.Program whose
// arguments are the function's arguments, then its results.
// Invariant: for every schedule the program computes what the reference evaluator
// computes for the function, up to the rounding of reordered sums.
//
// How: ir/fusion says which loops the axes make, and what those of a product, a scatter or an attention
// are. A [gen] appends phases and loops over ranges of them (gen.go); a value is computed where it is
// demanded, from what is at those ranges, in the outermost block that has all of them, so that
// what does not vary in a loop is before it (value.go, source.go). Where values lie is in memory.go.
// Reductions, products and scatters are roots: the nest opens loops over what they sum, and carries
// their tiles. One file per shape of the nest: map.go, row.go and column.go with reduce.go, pieces.go,
// product.go, scatter.go. That of an attention (attention.go) has all scores at once: how they are
// folded is the lowering's.
//
// For blocks of threads, which have few scores at a time, an attention is folded here
// (fold.go, fold_operands.go): tasks of rows sum over keys (fold_rows.go), tasks of keys over rows
// (fold_keys.go), and limits of the keys that a row sees bound their loops (fold_bounds.go).
//
// Imports ir, ir/op, ir/fusion, backend/tile, backend/tile/schedule.
package nest
