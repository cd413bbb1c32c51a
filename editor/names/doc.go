// Package names says what every name in a program stands for: which declaration, and
// where else that declaration is named.
//
// In: a program, whole or in part, and what its nodes evaluated to, as far as it was
// evaluated. Out: an [Index] of references by file and offset.
//
//	symbol.go   what a name stands for
//	index.go    the index, and how it is asked
//	declare.go  the declarations of all files
//	resolve.go  scopes, statements and names
//	expr.go     expressions
//	layout.go   layouts, and paths into the model
//	auto.go     auto layouts
//	pattern.go  strings that select parameters
//
// Names are looked up at the places of package lang/source, as when the program is
// evaluated. A name that is bound to
// nothing is that of an axis, as is an entry of the config: both are one symbol, since
// an axis has the size of the entry of its name.
//
// Invariant: references of a file do not overlap, and are in the order of the text.
// What cannot be resolved without a value that is not there is left out, and never
// guessed.
// Imports ir/auto, lang/directive, lang/eval, lang/source, lang/syntax, lang/value.
package names
