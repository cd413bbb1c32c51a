// Package ref executes plans in pure Go: the reference evaluator runs each
// kernel function on the plan's own arena. It needs nothing installed, is the
// oracle of every other backend, and the default where there is no LLVM.
//
// In: kernel functions. Out: their printed IR as code of kind "ir", and the
// engine of that kind, which is package host's with kernels that evaluate. Target "ref" rounds every value to its dtype as native
// code does; "ref:f64" computes in float64 throughout.
// Imports ir, ir/eval, backend, runtime/program, runtime/device and its
// package host.
package ref
