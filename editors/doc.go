// Package editors has tests that hold the grammars for editors to the lexer of the
// language: every token of every example and of the standard library has the class that
// the lexer gives it, and the tables of words are those of the language. The syntax of
// directives is written from their nodes: go test ./editors -update.
//
// In: the grammars below this folder. Out: a failure with the token that differs.
// Imports, of tests, lang/directive, lang/syntax.
package editors
