// Package choose chooses schedules for GPUs, by estimates.
//
// In: a kernel as ir/fusion analyzes it, and what a block of threads may have. Out: a schedule.Schedule,
// for elementwise work and reductions (choose.go), products (product.go) and attentions (attend.go).
// Invariant: a schedule depends on the kernel's shape and the target alone, so plans are reproducible.
// Imports internal/dtype, ir, ir/op, ir/fusion, backend/tile/schedule, backend/gpu/target.
package choose
