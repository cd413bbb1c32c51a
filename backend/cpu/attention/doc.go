// Package attention generates products around a softmax in the loop/tile form: scores
// are computed, made into weights and multiplied a block at a time, and never stored.
//
// In: a [Spec]: sizes, functions that load operands and store results, and functions
// that make of scores the weights, so that scale, masks, bias and dropout are part of the
// kernel. Out: a kernel whose tasks are problems, or blocks of their rows.
// Invariant: each sum is in an order that depends on sizes and the machine's
// description alone, not on tasks or threads; keys that no row of a tile sees are not
// computed; no more than the declared elements are read or written.
//
// How (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018,
// algorithm 3; Dao et al., "FlashAttention", 2022, algorithms 1 and 4; Dao,
// "FlashAttention-2", 2023, section 3):
//
//	task (outer, and where nothing is summed over rows: group, chunk of rows)
//	  pack the chunk's rows                                        → L2
//	  for each block of keys
//	    pack its keys: [panel][column][key] for scores, [panel][key][column] for results
//	    for each block of rows that sees any of them
//	      pack its rows, if the task has them all                  → L1
//	      for each panel of keys, for each tile of rows
//	        scores[row][key] = Σ over columns                      registers
//	      for each row: largest score, exponentials, weights       → scores' place
//	      for each panel of columns, for each tile of rows
//	        sums[row] = sums[row]·scale + Σ over keys              registers
//	      and of gradients, for each tile of keys
//	        sums[key] += Σ over rows                               registers
//	    store what is by keys
//	  store what is by rows
//
// Weights take the place of their scores row by row, which is the order of a left operand
// in both products: an element is broadcast, whichever of the two axes is summed over.
//
// Code is generated with a type for each scope of these loops, which never changes: [task], [keyBlock],
// [group] (of rows), [block] (of them), and [row].
//
// Imports backend/kernel and backend/kernel/vmath.
package attention
