// Package analysis has what is known of a program while somebody writes it: its mistakes,
// what every expression evaluates to, what every name stands for, and what the layout
// makes of it.
//
// In: the text of a main file, a reader of what it imports, the name of a layout.
// Out: a [Program], from the language alone, within milliseconds; a [Structure], from all
// passes and a plan for the reference, which takes longer and can be ended.
//
//	program.go    Check: mistakes of all layouts, values, names
//	structure.go  Compile: shardings and the plan
//	find.go       the node at a place
//
// Invariants: a text of any kind gives a Program; one with mistakes of syntax has what
// is left without them, and reports no others. Nothing here changes once it is made.
// Imports compiler, editor/names, editor/text, foresight/machine, internal/diag, ir,
// lang, runtime/explain.
package analysis
