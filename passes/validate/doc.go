// Package validate proves that a pass preserved the values of a module, without
// executing it: translation validation (Pnueli, Siegel, Singerman, 1998) by
// value numbering.
//
// In: a module before and after a pass, at any level, verified. Out: nil, or
// the first result that is computed differently, and where the computations diverge.
// Invariant: two results have one number only if they are one expression over
// the module's arguments: the same operations, with the same attributes, of
// the same values.
//
// Numbers belong to values of the entire mesh. A collective, like a reshard, changes
// the sharding or place of a value and keeps its number; sizes are those
// of the full tensor; a receive has the number of what was sent; a call has those of
// its kernel's body. So one number persists through every level from Sharded to
// Planned, whatever the order of operations and the function that holds them. The rules
// of the verifier complete the proof: every value has the sharding in its type (states),
// messages match (messages) and a read finds the value that was written (memory).
//
// Numbers do not look through algebra: a pass that rewrites x+0 as x changes
// them. The order of sums is the exception: a reduction in two rounds is one, and so is a
// contraction summed in parts (parts.go). The table of passes says which passes keep numbers.
// Imports ir, ir/op.
package validate
