// Package query answers what an editor asks about a place or a file.
//
// In: a [View]: a program, as far as it is known, and the text as it is in the editor
// now, which may be further. Out: messages of the protocol.
//
//	view.go       places between the text that was analyzed and the one that is edited
//	describe.go   what is shown of a value or symbol
//	hover.go, hints.go, lens.go
//	navigate.go   definition, references
//	rename.go     a new name, if the program means the same with it
//	cursor.go     what is being written at a cursor, by the tokens before it
//	complete.go, complete_axes.go, complete_layout.go, signature.go
//	complete_auto.go  completion and hover in auto layouts
//	machine.go    hover and completion in files of machines
//	outline.go    symbols, folding, formatting
//	tokens.go     semantic tokens
//	diagnostics.go
//	fixes.go      corrections of diagnostics; remedies.go has a row for each hint that states one
//
// Invariant: no text, and no place in it, makes a query panic; what is not known is
// left out of the answer.
// Imports editor/analysis, editor/names, editor/protocol, editor/text,
// foresight/machine, internal/diag, internal/units, ir, lang, stdlib.
package query
