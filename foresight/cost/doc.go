// Package cost says how long one kernel, one exchange, or one copy takes on a machine when nothing else uses it.
//
// In: the kernel functions of a plan, or the kind, size, and devices of an exchange; and a cluster. Out: whole
// picoseconds, with what bounds them.
//
//	part.go      what a kernel computes: products, bytes, arithmetic
//	kernel.go    its time: tiles and waves for products, bytes for sweeps
//	exchange.go  collectives by algorithm, messages
//	rate.go      rates, as whole numbers a second
//
// Invariant: a time is a function of the machine and of the work alone, and the same on every processor: rates are
// rounded to whole numbers once, and everything after that is integer arithmetic. Times round up, so that no sum of
// parts is below the time of the whole.
//
// Formulas: the roofline of Williams, Waterman and Patterson (2009) for sweeps; tiles and waves as in NVIDIA's
// "Matrix Multiplication Background User's Guide" (2023) for products; α-β costs of Thakur, Rabenseifner and Gropp
// (2005) and of NCCL's own tuning model (src/graph/tuning.cc) for collectives.
//
// Imports backend/gpu/choose, backend/gpu/target, backend/tile/schedule, foresight/machine, internal/collective,
// internal/dtype, internal/wide, ir, ir/fusion.
package cost
