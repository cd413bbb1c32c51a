// Package lower generates the loop/tile form of fused kernels.
//
// In: a kernel function that ir/fusion accepts, and the machine's description.
// Out: a kernel.Kernel whose arguments are the function's arguments, then its
// results, and whose tasks may run in any partition.
// Invariant: the kernel computes what the reference evaluator computes for the
// function, up to the rounding of reordered sums and of the math calls; values
// of low precision inside a kernel are kept in f32 and rounded where they are
// cast or stored.
//
// How: axes that every buffer stores next to each other become one loop
// (dims.go). A value is computed at the coordinates of the loops around it
// (value.go), as a scalar or, along the vector axis, as a vector; what does not
// change in a loop is computed before it. One file per class arranges the
// loops: map.go, row.go, column.go, scatter.go, pieces.go, gemm.go, attention.go; what
// masks of an attention let be skipped is found in attention_limits.go.
// Imports ir, ir/op, ir/fusion, and of backend/kernel the form, gemm, attention and vmath.
package lower
