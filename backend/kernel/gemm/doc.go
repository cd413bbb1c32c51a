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
//	task (outer, block of M, block of N)
//	  for each block of K
//	    pack left block, pack right block          → scratch, L2
//	    for each register tile of the block
//	      for k: acc[MR][NR] += left[m][k] · right[k][n]   registers, L1
//	      last block of K: Store(acc); else keep acc in scratch
//
// Imports backend/kernel alone.
package gemm
