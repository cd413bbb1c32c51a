// Package random makes small models and legal layouts of them from a seed, and
// compares training under each layout with training on one device: a layout
// never changes the result, also where nobody thought of the combination.
//
// In: a seed.
// Out: a [Case], which is the text of a program with two layouts; what running
// it found; and for a failure the smallest case that still fails.
// Invariant: a seed gives the same text for ever on every machine, as long as
// the generator is the same. A case that the compiler refuses is refused with a
// diagnostic that has a code and a place; all others run and agree.
// All of it is tests: flags of `go test` choose how many cases and which (README.md).
package random
