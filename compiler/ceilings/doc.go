// Package ceilings measures what this machine can do at best: multiply-adds,
// dot products of bf16, reading, copying and updating memory, and launching kernels.
//
// In: a number of threads. Out: a Report of figures, with one thread and with all.
// The loops are kernels of our own generator, run as a plan's are: compiled by
// libLLVM for the target that `cpu` stands for here and replayed by a team of
// package native, so that no figure is of code that a plan could not have.
//
// Invariants: a FLOP is one addition or one multiplication; a byte is one that a
// loop reads or writes itself, so that a copy of n bytes is 2n, and the line that a
// cache reads before it is overwritten is not counted; all figures are measured in
// turns, round by round, and each is a median.
//
// It imports backend/kernel, backend/cpu/emit and backend/cpu/llvm, and runtime/native.
package ceilings
