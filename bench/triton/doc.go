// Command triton runs kernels of another compiler under the emulator of GPUs, and compares what they leave in
// memory with float64.
//
// In comes the folder that kernels.py writes: kernels of ours in Triton's languages, as the PTX that Triton
// makes of them for sm_80, sm_89 and sm_90a, with arguments, data and results by numpy. Out comes the
// largest error of each kernel, whenever copies and products are done; and an error for
// one that is wrong. `make triton-check` installs Triton into an environment of its own.
//
// Triton's users run what it makes on GPUs, so that what it takes for granted of them is true: where
// elements of matrices lie in registers and in swizzled shared memory, what descriptors and tensor maps
// mean, when barriers are complete. An emulator that reads any of this otherwise gets other numbers.
// What ptc emits is then known to mean the same to a GPU as to the emulator, as far as Triton uses it.
//
// Triton is less strict in two places than the emulator: a kernel without a cluster has no fence after the
// initialization of barriers, which is added here (see dialect); and several threads store the same
// value at one place, so that races are looked for in some kernels alone.
package main
