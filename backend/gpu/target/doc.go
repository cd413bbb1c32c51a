// Package target describes the GPUs that kernels are generated for.
//
// In comes a name such as `cuda:sm_90a`; out goes a Target: what PTX is told, what schedules are
// chosen by (warps, registers, shared memory, instructions that multiply and copy), and what
// the fastest device of that kind does at most.
//
// The invariant: a Target is a function of its name alone.
//
// It imports internal/diag only.
package target
