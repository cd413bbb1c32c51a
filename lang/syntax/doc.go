// Package syntax reads and writes the text of the language: lexer, grammar,
// syntax tree, formatter.
//
// In: the bytes of one .ptl file. Out: a [File], or the complete list of its
// syntax errors; and the same text laid out anew by [Format].
//
//	bytes ─lex─▶ tokens ─brackets─▶ declarations ─participle─▶ File
//	                └───────────────── Format ◀───────────────────┘
//
// The token stream is cut into declarations before any of them is parsed, so
// that one broken declaration does not hide the errors of another.
// Declarations, members and statements are the struct tags of the tree (ast*.go), and
// directives those of package lang/directive, which registers them; expressions and types are parsed by precedence climbing
// (expr.go, type.go).
//
// Invariant: nothing of names, shapes or devices is known here. A File that
// parses may still be nonsense, which package lang says. Comments and line
// breaks are not in the tree; Format takes them from the tokens, and never
// changes the token stream.
//
// Imports internal/diag only.
//
// # Error codes
//
//	E0101  a word or sign that does not fit here
//	E0102  a bracket that is never closed
//	E0103  a closing bracket that closes nothing
//	E0104  a string or comment that is never closed, or a bad escape
//	E0105  brackets or operators nested too deeply
//	E0106  a character the language does not use
//	E0107  not UTF-8 text
//	E0108  a malformed number, or one out of range
//	E0109  an empty file
//	E0110  a file that is too large
//	E0111  an unknown keyword at the start of a declaration, member or directive
//	E0112  a reserved word used as a name
//	E0113  an expression where a statement is needed
//	E0114  chained comparisons
//	E0115  an axis that needs a name
//	E0223  a name that is too long
package syntax
