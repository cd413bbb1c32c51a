// Package dtype knows the element types of tensors: one row for each, with all
// that anyone asks of it. IR, kernels, plans, collectives and files index these
// rows; no other table of dtypes exists, and no code has a case for "any
// other dtype".
//
// In: names, and elements as memory holds them (little-endian, booleans one byte).
// Out: [DType], its facts, and elements as float64, float32 or bytes.
// Invariant: every row is complete, and encode is the inverse of decode (tests walk
// the rows).
// To add a dtype: a constant, its row, and, if arithmetic on it is done in a wider
// type, a line in the emitter's table of conversions (backend/cpu/emit/convert.go).
// Imports nothing of ours.
package dtype
