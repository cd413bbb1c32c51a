// Package assemble turns a module of ir(Planned) and the code of its kernels
// into a plan.
//
// In: the module, a target. Out: program.Plan, but for what only the compiler
// knows (sources, version).
// What is repeated stays so: runs, tasks and ticks of the module are those of the plan.
// Invariant: the plan, written out, is that of the module written out; it follows
// from the module and the target's code alone.
// Imports internal/rolled, ir, ir/fusion, ir/layout, ir/op, backend, runtime/program.
package assemble
