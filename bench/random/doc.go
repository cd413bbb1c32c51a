// Package random makes small models and legal layouts of them from a seed, and
// compares training under each layout with training on one device: a layout
// never changes the result, even in combinations that nobody thought of.
//
// In: a seed.
// Out: a [Case], which is the text of a program with two layouts; the result of running
// it; and for a failure the smallest case that still fails.
// Invariant: a seed gives the same text forever on every machine, as long as
// the generator is the same. If the compiler rejects a case, the diagnostic has a code
// and a place; all others run and agree.
// All of it is tests: flags of `go test` choose how many cases and which (README.md).
package random
