// Package tensor holds dense tensors of the reference evaluator: named axes,
// float64 elements whatever the dtype, rounded to the dtype on demand.
//
// In: types from ir. Out: values that op rows compute with.
// Invariant: len(Data) is Type.Elems(), in row-major order of Type.Axes.
// Imports ir, internal/philox.
package tensor
