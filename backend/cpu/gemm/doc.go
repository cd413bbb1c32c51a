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
// Multiplication", ACM TOMS 34, 2008; the register tile as in BLIS: Van Zee and
// van de Geijn, ACM TOMS 41, 2015):
//
//	tasks (outer, blocks of M, blocks of N)
//	  for each position of the outer contracted loops, for each block of K
//	    pack the left block: tiles [k][MR]                           → L2
//	    for each group of panels
//	      pack the right group: panels [k][NR]                       → L1, L2
//	      for each panel
//	        for each tile
//	          for k: acc[MR][NR] += left[k][m] · right[k][n]         registers
//	          keep acc in scratch
//	          if nothing is to be added: Store the tile
//
// A task is one block, and a thread does those of its range in batches that share rows or
// columns ([kernel.Batch]; batches.go): it packs each element of its operands once for a
// batch, so that tasks may be as small as an even share of the work wants. In the innermost loop but one a
// panel stays in L1 while the tiles stream past it in the order they lie in: a
// few bytes a cycle, which L2 gives in time, and L3 as well.
//
// First the product is split in three stages; each builds on the one before: [tiling] for
// registers, [caching] for blocks of K and caches, [blocking] for tasks. Then code is generated,
// with a type for each scope of the loops above, which never changes: [task], [kBlock], the packed
// operands [leftPack] and [rightPack], [tileProduct], and [sums], which hands results to Store.
//
// Operands that are contiguous along M or N are packed by vectors along them; a
// tile has fewer rows than a vector, so that each store overwrites the spare lanes
// of the one before it. Those contiguous along K are transposed in registers, the
// left one by way of scratch if more than a load is done for each element: what is
// done is then generated once.
//
// What is used too seldom to pay for packing is read where it is:
//
//   - the right operand of few rows. If it is contiguous along N, blocks of K are
//     so shallow that its rows are read side by side, each from front to back,
//     while the sums wait in L1; if along K, see [dots];
//   - the left operand, where panels of all columns fit L2 beside it: tiles are
//     then outside, so that the rows of one stay in L1 from panel to panel.
//
// Where the machine has an instruction for products of bf16 and both operands are bf16,
// steps of K are packed as it takes them, several in a word: see instruction.go, matrices.go, tiles.go.
//
// What is packed next is asked for before, so that it is in L2 by then: see prefetch.go.
//
// Results pass through scratch on their way to Store, so that what follows the
// product is generated once, whatever the tiles are, and takes no registers
// from the innermost loop.
//
// The size of a task is that which loses least by an estimate of what packing
// costs, with the work before it, and of threads that idle at the end: [blocking].
// Spec.Blocks gives all sizes instead, and [Choices] lists those worth measuring; the
// order of a sum is the same for all of them.
//
// [Saves] estimates by the same measure what a product would gain from a sum in parts,
// which its caller writes: as a product with one more axis outside, and a sum.
//
// Imports backend/kernel alone.
package gemm
