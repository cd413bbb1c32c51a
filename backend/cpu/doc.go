// Package cpu generates native code for processors: tile programs, kernels in the
// loop/tile form, LLVM IR, a few object files, one with the replay driver.
//
// In: kernel functions. Out: an object without undefined symbols, which the
// runtime loads without LLVM.
// Invariant: the target's name alone decides the bytes.
// Imports ir, backend, backend/kernel, backend/cpu/lower, backend/cpu/emit, backend/cpu/llvm,
// runtime/native (its reader of objects), runtime/program.
package cpu
