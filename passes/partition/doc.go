// Package partition makes shapes those of one device and reshards explicit:
// ir(Sharded) → ir(Local).
//
// In: stated values and reshard operations. Out: the program that every device
// runs, with collectives in the place of reshards, and permutes or slices in the
// place of takes (take.go).
// Invariant: the devices' results, joined as their types say, are the global
// results; a reshard moves no more than its kind needs (move.go).
// Imports ir, ir/op, passes/pass.
package partition
