// Package verify says what is wrong with a module: structure, types,
// attributes and shape inference at every level, and what each level forbids.
//
// In: modules from lang, from a pass or from text. Out: diagnostics with codes
// E0310 to E0321; for a module that a pass made, each of them is a bug of that
// pass.
// Invariant: a module without diagnostics prints and parses back to itself,
// every operation of it has a row, and each result has the type that the row
// infers. A module of any text gives diagnostics, never a panic.
//
// Packages that give meaning to a level (memory offsets, schedules) add their
// rules with [AtLevel]; such rules see only modules that are sound otherwise.
// Imports internal/diag, ir, ir/excerpt, ir/layout, ir/op, ir/fusion.
package verify
