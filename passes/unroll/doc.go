// Package unroll writes every instance of every stack out: any level.
//
// In: functions with stacks (see ir.Stack). Out: the same functions without.
// Invariant: the same values, computed in the order of the runs.
// Imports internal/diag, ir, ir/layout, ir/op, passes/pass, passes/stage.
package unroll
