// Package choose chooses schedules for processors with vectors, by estimates.
//
// In: a kernel as ir/fusion analyzes it, and how many f32 a vector holds. Out: a schedule.Schedule. How
// products and attentions are blocked is not in it: backend/cpu/gemm and backend/cpu/attention know the caches.
// Invariant: a schedule depends on the kernel's shape and the target alone, so plans are reproducible.
// Imports ir/fusion, backend/tile/schedule.
package choose
