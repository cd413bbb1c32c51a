// Package op holds one row per operation of the IR: arity, attributes, shape
// inference, gradient, sharding rule, reference evaluation, cost and random
// examples. Printer, parser, verifier, evaluator, autodiff, propagation,
// partitioner and simulator read the rows; there is no second table.
//
// In: types and attributes from ir. Out: [Def] rows by name, and [Builder],
// which emits operations with inferred types.
// Invariant: every registered row is complete (a test holds it), and tests
// derived from the rows check each gradient against central differences and
// each shardable factor by sharding, evaluating and reassembling.
// To add an operation: one file with one Register call in init.
// Imports ir, ir/tensor.
package op
