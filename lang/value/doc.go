// Package value has what expressions evaluate to: numbers, strings, tensors,
// functions, modules and their instances, parameters, sources of data.
//
// In: declarations and types. Out: values, which say what they are for messages;
// only a [Tensor] exists when the program runs.
// Invariant: nothing here evaluates anything.
// Imports internal/diag, ir, ir/layout, lang/source, lang/syntax.
package value
