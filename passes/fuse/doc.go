// Package fuse turns every entry function of ir(Local) into calls of kernel
// functions (ir(Fused)).
//
// In: operations over named axes. Out: kernels that ir/fusion accepts, shared
// by structure: two kernels that print alike are one function.
// Invariant: every value that crosses kernels is stored dense in the order of
// its type; views of stored values cost nothing; results are unchanged.
//
// How: facts.go prepares a function and collects what grouping asks of it. Sources that read
// nothing (constants, indices, masks made of them) and views are free: each reader gets its own
// copy. If the target has kernels of attention, those are found first (attention.go), and each is
// one group. Every other operation starts a group (group.go); in program order each group takes in
// the groups that produce its operands if the union is still one loop nest (rules.go) and no path
// leads out of the union and back (path.go). Casts of weights that many blocks of a product would
// repeat stay separate (casts.go). Values that are cheap to compute again from stored ones are not
// stored (recompute.go); and if a kernel of a later run has the operands of a value that blocks
// would keep for it, that kernel computes it again (later.go). The groups are put in order
// (order.go) and become calls (emit.go).
//
// Of the calls, those that do not wait for each other and write little become one launch, as do
// products of one operand (horizontal.go). Calls of a run that need nothing of the instance before
// get runs of their own, whose instances can be one launch (independent.go). Last, long sums of few
// results are cut in parts, for more tasks (parts.go).
// Imports ir, ir/op, ir/fusion, passes/pass.
package fuse
