// Package tile is the block-level form of kernels: tasks, each of which computes with
// tiles of named ranges.
//
// In: calls on a Builder by the generators of kernels, or text. Out: a [Program], that
// a target lowers to its own form (lanes and caches of a CPU, warps and shared memory of
// a GPU) and that package tiletest interprets.
//
//	tile @softmax
//	  schedule rows=1
//	  arg in0 : f32[804] read
//	  arg out0 : f32[804] write over in0
//	  view x : in0 [a=12:67, c=67:1]
//	  view y : out0 [a=12:67, c=67:1]
//	  phase a in a=12 by 1, c in c=67 by 67
//	    %0 : f32[c] = load x[a, c]
//	    %1 : f32[] = reduce_max %0 over c
//	    %2 : f32[c] = sub %0, %1
//	    %3 : f32[c] = exp %2
//	    %4 : f32[] = reduce_sum %3 over c
//	    %5 : f32[c] = div %3, %4
//	    store y[a, c], %5
//	  end
//	end
//
// The dimensions of a tile are ranges, that is blocks of positions which the grid or a
// loop introduces, and nothing else: elementwise operations combine tiles by range and
// repeat along what they lack, a sum names the range that it removes, and the order of
// dimensions in memory is the views' and the layouts' alone. What lies beyond the end
// of an axis does not exist, so no lowering has to know which value a masked lane must
// have: it follows from the operation. A range of size 1 is a position, so that one
// text serves blocks of rows and single rows. Whoever wants loops over whole axes says
// so by their size; how a whole axis is swept is the lowering's.
//
// Element types and elementwise operations are those of ir/op, computed as they are in
// kernels: numbers of low precision in f32, rounded where they are cast, stored, or put
// into shared memory. Sums have no order but that of loops; a scatter has the order of
// its tile's elements.
//
// Three things are left out because the form makes them impossible rather than wrong.
// Barriers of the whole grid are the ends of phases, so that none is under divergent
// control. A copy names no slot of a staged buffer: a loop says how many iterations'
// copies are in flight, each iteration sees its own tile, what it yields is in
// registers, and so no slot is used again too early; what remains to be wrong, a source
// that is written while a copy may read it, the interpreter finds. And conditions and
// bounds of loops are scalars like any others ([First] and [Last] give a block's ends),
// so that there is no second language for them. There is no scan: nothing in ir/op is
// one.
//
// Invariants: a program that [Verify] accepts means one thing, whatever the order and
// the number of threads that run its tasks, or interpretation says which two tasks
// meet where. Text is canonical: [Parse] and [Program.String] are each other's inverse
// up to the numbers of tiles.
// Imports ir, ir/op, backend/tile/schedule.
package tile
