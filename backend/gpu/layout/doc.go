// Package layout says which thread of a block has which elements of a tile, and in which
// of its registers.
//
// In: sizes of a tile and of a block of threads. Out: a [Layout], which maps the numbers of
// register, lane and warp to a position. It is linear over their bits (Zhou et al., "Linear
// Layouts", 2025): each bit of a number moves the position by its basis, and positions are
// added without carry. So blocks of neighbours, fragments of matrix instructions and their
// slices are one form, and which data has to move between two layouts is algebra.
//
// A [Memory] says the same of shared memory: the address of an element is linear over the bits of its
// position, so that threads which access it together can be spread over its banks.
//
// Invariants: sizes, and the numbers of lanes and warps, are powers of two; every element of a
// tile has a place; several places with one element all have it.
// Imports nothing of ptc.
package layout
