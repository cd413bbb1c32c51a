// Package lower turns tile programs into what the threads of a block do.
//
// In: a machine of package thread, a program of backend/tile, and how many warps a block has. Out: an entry of the
// machine for each phase, a task being a block of threads.
//
// Package assign decides first which thread has which elements of a tile, how operands lie in shared memory and how loops
// and stores proceed. What is here only emits: values are computed where they are demanded, in the layout of their
// reader, so that elementwise work never moves data between threads (values.go, load.go); a tile that is in another
// layout of its own, as sums and what loops carry, is exchanged through shared memory (reach.go).
//
// Effects are lowered one after the other (block.go): reductions (reduce.go), products by matrix instructions of
// warpgroups (dot.go) and of warps or by multiply-adds (multiply.go), stores in slices (store.go), and loops (loop.go), which
// have operands of products put into shared memory ahead (pipeline.go): into slots, by threads or by tensor maps (slots.go),
// which are arguments of the kernel behind the buffers. Warps may be specialized in copying or multiplying
// (special.go), and the blocks of a cluster may share a task (cluster.go). Exponentials are those of processors but in
// attentions of 16 bits.
//
// Invariant: a result does not depend on the order in which warps run: sums are in an order that
// the layout says.
// Imports backend/tile, backend/tile/schedule, backend/elementwise, backend/kernel, backend/gpu/{assign,layout,thread}.
package lower
