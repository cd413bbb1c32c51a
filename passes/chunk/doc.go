// Package chunk has a large product and all that is made of it, as the logits and
// their loss, computed for some rows at a time, so that it never exists in full:
//
//	before                              after, for each range of the rows
//	%l = dot %x, %w over=(embed)        %x0 = subview %x from=0 limit=512
//	%m = reduce_max %l over=(vocab)     %l0 = dot %x0, %w over=(embed)
//	…                                   …
//	%g = …            as large as %l    %g0 = …
//	%d = dot %g, %w over=(vocab)        %d0 = dot %g0, %w over=(vocab)
//	%u = dot %x, %g over=(seq)          %u0 = dot %x0, %g0 over=(seq)
//	                                    …
//	                                    %u1 = add %u0, %v1
//	                                    %d = concat_in_place %d0, %d1, …
//
// The loss of a language model is the case that it is made for: of 50,257 logits for
// each token, as many exponentials and as many gradients, only their sums and two
// products are read by others. Nothing is named, though: an operation is known by its
// sharding rule, which says whether an axis passes through it, as rows do here, or is
// summed over. (Hsu et al., "Liger Kernel: Efficient Triton kernels for LLM training", 2024,
// section 3.2, has the loss of language models in such a sweep; Wijmans et al., "Cut your
// losses in large-vocabulary language models", 2024, in one kernel.)
//
// In: functions of one device, in tasks where a pipeline has them (ir(Local)).
// Out: the same; rows are split by `subview`, joined by `concat_in_place`, and what is summed over
// rows is added up in the order of the ranges.
// Invariant: each result is the same but for the order of those sums. Every range has
// the same operations on values of the same types, so that fuse makes its kernels once.
//
// How: rows.go says what an operation does to rows. region.go grows the region around a
// product: what is as large as it, what lies on a way from such to such, and what makes
// less of what leaves. Where nothing outside must come in between, all is one sweep.
// Where it must (a number of the whole loss comes back, or forward and backward phase
// are tasks of a pipeline), sweeps.go has each of the two sweeps compute the product for
// itself. cut.go says how many ranges there are, and write.go writes them.
// Imports ir, ir/op, passes/pass.
package chunk
