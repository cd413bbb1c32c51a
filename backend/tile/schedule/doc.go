// Package schedule says how a kernel is cut: sizes of blocks, order, what is packed,
// which instruction multiplies.
//
// In: choices of a cost model, a measurement or a text. Out: [Schedule], a comparable
// struct, and its text, which is part of a tile program's.
// Invariant: pure data; a schedule changes how and in which order results are computed,
// never what they are beyond the rounding of sums. Text and struct are each other's
// inverse.
// Imports nothing of ours.
package schedule
