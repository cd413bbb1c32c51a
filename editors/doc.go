// Package editors has tests that hold the grammars for editors to the lexer of the
// language: every token of every example and of the standard library has the class that
// the lexer gives it, and the tables of words are those of the language.
//
// In: the grammars below this folder. Out: a failure with the token that differs.
// Imports, of tests, lang/syntax.
package editors
