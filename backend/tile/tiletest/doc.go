// Package tiletest interprets programs of package tile: the oracle that generators and
// lowerings are compared with.
//
// In: a program, memory for its arguments. Out: the memory as the program leaves it, or
// what would go wrong on a machine that runs tasks at the same time and ends copies
// late: two tasks of a phase that meet at an element, one of them writing; an element
// read that nothing wrote, or out of its buffer; a copy read before it is waited for,
// never waited for, or whose source is written while it may be under way; a tile used
// where it no longer is; two elements of a tile stored to one place.
// Invariant: what it computes depends neither on the seed nor on the order of tasks,
// unless it reports an error.
// Imports ir, ir/op, ir/tensor, backend/tile.
package tiletest
