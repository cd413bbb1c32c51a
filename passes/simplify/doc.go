// Package simplify removes work that changes nothing: common subexpressions,
// dead code, constants known now, algebra.
//
// In and out: a module at level Global; results keep their values.
// Invariant: every rule replaces a value by one of the same type and the same
// mathematics, and leaves less work: fewer operations, or cheaper ones, or
// smaller operands. Rules therefore cannot feed each other for ever.
//
// What "same" means for floats: NaN and infinities are respected (x*0 stays
// unless x is known finite, x-x stays, division by a constant stays a division
// unless the constant is a power of two). The sign of a zero is not, and
// reassociation happens only between constants and where it shortens a sum of
// copies.
//
// To add a rule: a row in the table of the file that knows its subject
// (rules_arith.go, rules_shape.go, rules_softmax.go), and a case in testdata.
// Imports ir, ir/op, ir/tensor, passes/pass.
package simplify
