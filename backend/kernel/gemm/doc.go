// Package gemm generates matrix products in the loop/tile form.
//
// In: a [Spec]: sizes, and functions that load operands and store results, so
// that elementwise work before and after the product is part of the kernel.
// Out: a kernel whose tasks are blocks of the result.
// Invariant: each result is the sum over k in an order that depends on sizes
// and the machine's description alone, not on tasks or threads; no more than
// the declared elements are read or written.
//
// How (Goto and van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", ACM TOMS 34, 2008; the register tile as in BLIS):
//
//	task (outer, block of N, block of M)
//	  for each position of the outer contracted loops, for each block of K
//	    pack the right block: panels [k][NR]                         → L2
//	    for each tile of MR rows
//	      pack the left tile: [row][k], or [k][row]                  → L1
//	      for each panel
//	        for k: acc[MR][NR] += left[m][k] · right[k][n]           registers
//	        keep acc in scratch
//	      if nothing is to be added: Store the MR rows
//	  if something was: Store the block's rows
//
// Results pass through scratch on their way to Store, so that what follows the
// product is generated once, whatever the tiles are, and takes no registers
// from the innermost loop. A right operand that only one tile uses is not
// packed but loaded there.
//
// Imports backend/kernel alone.
package gemm
