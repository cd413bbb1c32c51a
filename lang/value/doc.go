// Package value has what expressions evaluate to: numbers, strings, tensors,
// functions, modules and their instances, parameters, sources of data.
//
// In: declarations and types. Out: values, which say what they are for messages;
// only a [Tensor] exists when the program runs,
// and of a [Traced] number what it is computed of.
// Invariant: nothing here evaluates anything.
// Imports internal/diag, internal/formula, ir, ir/layout, lang/source, lang/syntax.
package value
