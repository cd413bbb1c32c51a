// Package eval executes a function of a module, at any level, with the
// reference evaluation of the op rows: on one device ([Func]) or on the
// simulated devices of the module's mesh ([Devices], or [Programs] where devices
// execute different functions).
//
// In: a verified module and the arguments as tensors. Out: the results as
// tensors, rounded to their dtypes after each operation, or exact in float64.
// Invariant: the result depends on the module and the arguments alone, not on
// how devices interleave; a set of collectives that could never complete is
// an error, not a hang.
// Imports ir, ir/op, ir/tensor.
package eval
