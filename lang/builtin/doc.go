// Package builtin has the functions of the language, one block for each, which
// register with package lang/eval: mathematics, axes, scatter, checks, sources of
// data.
//
// In: the evaluated arguments of a call. Out: a value, or a mistake at the
// argument that is wrong.
// Imports internal/diag, ir, lang/eval, lang/source, lang/syntax, lang/value.
package builtin
