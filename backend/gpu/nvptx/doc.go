// Package nvptx renders what package thread says as PTX, for NVIDIA's GPUs.
//
// In: a [Machine], and calls on the builders that it makes. Out: entries of package ptx.
//
// The arithmetic of backend/kernel is a stream of statements that become instructions as they are made (translate.go,
// arithmetic.go); its values are in registers or are numbers (entry.go). Each interface of package thread is a type
// here, on top of the entry: control flow, lanes, memory, copies, barriers, matrices, groups, clusters.
//
// Invariant: the same calls give the same text. Equal computations in the same block of code, or in one around it, are
// done once, and integers that are known are computed now; all else is left to the assembler.
// Imports backend/kernel, backend/kernel/vmath, backend/gpu/{ptx,thread}.
package nvptx
