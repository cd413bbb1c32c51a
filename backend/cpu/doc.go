// Package cpu generates native code for processors: kernels in the loop/tile
// form, LLVM IR, one object file with the replay driver.
//
// In: kernel functions. Out: an object without undefined symbols, which the
// runtime loads without LLVM.
// Invariant: the target's name alone decides the bytes.
// Imports ir, backend, backend/kernel, backend/cpu/emit, backend/llvm,
// runtime/program.
package cpu
