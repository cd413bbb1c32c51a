// Package ringattention gives attention its form, and splits it along the sequence (the pass `context`):
// ir(Global) → ir(Global).
//
// In: a module of which the layout shards an axis of positions, `shard seq over
// cp`. Out: the same mathematics, with each attention core in blocks of queries
// and of keys and values, one for each device, and a softmax that is carried
// from block to block, so that propagate and partition make a ring of it. Every
// attention that is in no ring has the form that package fuse makes a kernel of:
// less the largest score as a constant, and with sinks divided behind the product.
// Invariant: the results are those of the module before, up to the rounding of
// sums in another order.
//
// How: the sequence is split into (block, part), with as many blocks as
// devices. Products are taken within a block, so `block` is a batch axis, which
// propagate shards. Step r of n uses the keys and values of block b − r for the
// queries of block b: they are moved on by one block from step to step by a
// `take` along the blocks, which between devices is a permute (Liu, Zaharia,
// Abbeel, "Ring attention with blockwise transformers for near-infinite
// context", 2023, section 3). Maximum, sum and product of the softmax are
// updated with each step (Milakov, Gimelshein, "Online normalizer calculation
// for softmax", 2018, algorithm 3; Dao et al., "FlashAttention", 2022,
// algorithm 1). The backward phase differentiates the sums that this makes, with
// the last maximum (gradient.go), so that autodiff makes the backward ring.
//
//	core.go    which operations are an attention core along the ring's axis (ir/fusion says what a softmax is)
//	blocks.go  what computes scores, over one block of queries and of keys
//	online.go  the softmax that is carried
//	gradient.go  what is differentiated in its place, and the way back
//	ring.go    the steps in the contiguous order
//	order.go   the zig-zag order: what of the step reads positions so
//	zigzag.go  the steps in that order, without products that a mask hides
//	sinks.go   terms of the sum that no key has; the form of attentions that are in no ring
//	gate.go    sinks that are written as a gate of the result
//
// Imports internal/diag, ir, ir/fusion, ir/layout, ir/op, passes/pass.
package ringattention
