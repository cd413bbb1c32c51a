// Package validate proves that a pass kept what a module computes, without
// executing it: translation validation (Pnueli, Siegel, Singerman, 1998) by
// value numbering.
//
// In: a module before and after a pass, at any level, verified. Out: nil, or
// the first result that is computed otherwise, and where the computations part.
// Invariant: two results have one number only if they are one expression over
// the module's arguments: the same operations, with the same attributes, of
// the same values.
//
// Numbers are of values of the whole mesh. A collective, like a reshard, changes
// the sharding or place of a value and keeps its number; sizes are those
// of the whole; a receive has the number of what was sent; a call has those of
// its kernel's body. So one number goes through every level from Sharded to
// Planned, and neither the order of operations nor the function that holds them
// counts. What makes this a proof are the rules of the verifier: that every
// value has the sharding that its type notes (states), that messages meet
// (messages) and that a read finds what was written (memory).
//
// Numbers do not look through algebra: a pass that rewrites x+0 as x changes
// them. The order of sums is the exception: a reduction in two rounds is one, and so is a
// contraction of which parts are summed (parts.go). The table of passes says which passes keep them.
// Imports ir, ir/op.
package validate
