// Package diag holds source positions and diagnostics: errors with a stable
// code, one or more positions, the source line with a caret, what was expected
// and a suggestion.
//
// In: positions and texts from every stage that reads what a user wrote.
// Out: [Error] values and [List] of them, rendered by [Render].
// Invariant: a diagnostic never contains an absolute path or anything of the
// machine; names of sources are as the user gave them.
// Imports nothing of ours.
package diag
