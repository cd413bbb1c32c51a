// Package stack says, as data, how other software executes a model: which operations share a kernel, what it stores, how it
// launches and sends.
//
// In: a JSON file, or the name of one that ptc brings along (stacks/*.json). Out: a [Stack], which the compiler and the
// simulator apply, so that a published run is predicted from the source of its model.
//
//	stack.go    the type, its file and its mistakes
//	kernels.go  which operations share a kernel
//
// Invariant: a stack has no formula for any model. What it says holds for every program, and each number has a source.
//
// Imports internal/diag, ir, ir/op, lang/directive, lang/syntax, stdlib.
package stack
