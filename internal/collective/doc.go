// Package collective is the one vocabulary of what devices exchange: names of kinds, what each
// kind does to its operands, how many bytes it takes, and the algorithms that do it with their cost.
//
// In: a kind, sizes. Out: a [Spec], bytes, an [Algorithm]. The IR, plans, transports, proofs and reports
// ask the spec of a kind; they name a kind only where they rewrite one into others or execute it.
// Invariant: a kind has one row, its name is that of the operation in the IR and of the instruction in
// plans, and bytes follow from the row alone.
// Imports internal/wide.
package collective
