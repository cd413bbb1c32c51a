// Package check is translation validation: it executes a module before and
// after every pass on the same random inputs and says which pass, if any,
// changed the result.
//
// In: the module as it came and after each pass, through [Checker.Hook].
// Out: a [Report] with the largest relative difference of each pass.
// Invariant: each version of the module is executed once, in exact float64
// arithmetic, and compared with the version before it; a pass that introduces
// a dtype of lower precision is compared again with values rounded to their
// dtypes.
//
// A module that still holds a symbolic gradient is executed with the gradient
// opened: what reads it gets it as an input. The gradient itself is then
// checked at autodiff, by central differences of the loss along random
// directions.
// Imports ir, ir/eval, ir/op, ir/tensor.
package check
