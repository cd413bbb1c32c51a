// Package thread is what a lowering programs against: what a thread of a block does, for any vendor's GPU.
//
// In: calls on a [Builder]. Arithmetic is that of backend/kernel, on scalars, so that mathematical functions, random
// numbers and what callers compute with are those of processors, to the rounding. What only GPUs have is one interface
// each: control flow ([Control]), places of threads and exchange between lanes ([Lanes]), memory ([Memory]), asynchronous
// copies ([Copies]), barriers and copies of tensors ([Barriers]), matrix instructions of a warp ([Matrices]) and of four
// ([Groups]), clusters of blocks ([Clusters]). Out: an entry of the vendor's assembly, which a [Machine] makes.
//
// Package nvptx is the one renderer so far. Another, as for amdgcn, has a Machine with its number of lanes and the
// interfaces up to Memory; every class of kernels can then be lowered, products as multiply-adds. The others are for
// schedules that ask for them: Copies for loops with stages, Matrices for `dot=mma`, whose fragments are those of
// layout.Sums and assign.Product.Fragments, Barriers and Groups for `dot=wgmma`, Clusters for `cluster=`. A vendor
// whose fragments differ adds a kind of dot.
//
// Invariant: the same calls give the same entry. Integers that are known are computed, and equal computations
// in the same block of code, or in one around it, are done once.
// Imports backend/kernel.
package thread
