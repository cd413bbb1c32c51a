// Package fuse turns every entry function of ir(Local) into calls of kernel
// functions (ir(Fused)).
//
// In: operations over named axes. Out: kernels that ir/fusion accepts, shared
// by structure: two kernels that print alike are one function.
// Invariant: every value that crosses kernels is stored dense in the order of
// its type; views of stored values cost nothing; results are unchanged.
//
// How: where the target has kernels of attention, those are found first
// (attention.go), and each is one group. Sources that read nothing (constants,
// indices, masks made of them) and views are free: each reader gets its own
// copy. Every other operation starts a group; in program order each group takes in the groups that produce its
// operands where the union is still one loop nest (rules.go) and no path leads
// out of the union and back, but for casts of weights that many blocks of a product would do (casts.go). Values that are cheap to compute again from
// stored ones are not stored (recompute.go), and of what blocks would keep for a later
// run, a kernel there that has its operands computes it again (beside.go). Of the calls that are left, those that
// do not wait for each other and write little become one launch, as do products of one
// operand (horizontal.go); and those of a run that need nothing of the instance before get
// runs of their own, whose instances can be one launch (apart.go). Last, long sums of few
// results are cut in parts, for more tasks (parts.go).
// Imports ir, ir/op, ir/fusion, passes/pass.
package fuse
