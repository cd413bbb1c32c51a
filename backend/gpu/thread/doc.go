// Package thread builds what a thread of a block does, as PTX.
//
// In: calls on a [Builder]. Arithmetic is that of backend/kernel, on scalars: a Builder has one of its
// builders, whose statements become instructions as they are made, so that mathematical
// functions, random numbers and what callers compute with are those of processors, to
// the rounding. What only GPUs have, places of threads, shared memory, barriers, exchange within a
// warp, matrices, is here. Out: an entry of package ptx.
//
// Equal computations in the same block of code, or in one around it, are done once, and
// integers that are known are computed now; all else is left to the assembler.
//
// Invariant: the same calls give the same text.
// Imports backend/kernel, backend/kernel/vmath, backend/gpu/ptx.
package thread
