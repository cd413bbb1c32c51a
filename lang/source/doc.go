// Package source reads programs: the main file, what it imports, and the
// standard library, each parsed once, with the names that it declares.
//
// In: the main file's text, an [Importer] for the user's other files and a
// [Library] for those of the standard library. Out: a [Program], or the mistakes
// that show without evaluating anything: imports, names declared twice, members
// in the wrong place.
// Here is also what every later package needs: where names are looked up (scope.go), for
// evaluation and for editors; the bounds of a program (limits.go); and the [Reporter],
// which takes each diagnostic once.
//
// Invariant: no file is read twice, and imports have no cycle.
// Imports internal/diag, lang/syntax, stdlib.
package source
