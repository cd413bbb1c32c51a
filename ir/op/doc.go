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
// To add an elementwise operation: its name and its row in unary.go or binary.go, and its form in
// backend/elementwise, since the IR knows nothing of kernels. For any other: its name in names.go, one
// Register call in the init of its family's file (choose.go, reduce.go, dot.go, movement.go,
// reshape.go, window.go, take.go, indexed.go, source.go, symbolic.go, collective.go,
// p2p.go, memory.go), and its computation on tiles in backend/nest or, for a reduction, a line in reduce.go of
// backend/cpu/lower. Gradients emit through the registry, hence init rather than a
// table literal. A test in backend/cpu/lower notices what is missing.
//
// Conventions that rows share:
//   - Elementwise operands align by axis name. The result has the axes of the
//     operand with the most (the first on ties), then those that it lacks.
//   - There are no implicit casts.
//   - A position that gather or scatter_add looks up is global; on a device
//     that holds a part of the axis, positions of other parts are out of range,
//     read as 0 and dropped.
//   - i32 wraps around; division of i32 by zero gives 0.
//
// Imports ir, ir/tensor, internal/diag, internal/dtype (and gonum for matrix products).
package op
