// Package unroll writes out what is repeated, for passes that take it written out: any
// level.
//
// In: functions with stacks (see ir.Stack) and tasks (see ir.Task). Out: the same
// functions without.
// Invariant: the same values, computed in the order of runs and turns. What would take
// very long is refused before any of it is written.
// Imports internal/diag, ir, ir/layout, passes/pass, passes/stage.
package unroll
