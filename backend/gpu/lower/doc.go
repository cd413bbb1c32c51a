// Package lower turns tile programs into what the threads of a block do.
//
// In: a program of backend/tile, and how many warps a block has. Out: an entry of PTX for each
// phase, a task being a block of threads.
//
// A tile is in registers: a layout (package layout) says which thread has which elements. Values
// are computed where they are demanded, in the layout that their reader has, so that elementwise
// work never moves data between threads; what exists in a layout of its own, as sums and what
// loops carry, is exchanged through shared memory if another is demanded. A layout has a power of
// two of each dimension; what is beyond the block, or the end of its axis, does not exist.
//
// Products read tiles from shared memory (shared.go, layout.Memory), multiply by matrix instructions of
// a warp or of four, or by multiply-adds (dot.go, mma.go, group.go, fma.go), and in loops have their operands
// put there ahead (pipeline.go): by threads, or by tensor maps (tensor.go), which are arguments of the
// kernel behind the buffers. Products of four warps run by themselves, those of a turn while the next one
// begins (pipeline_group.go), or warps are specialized in copying or multiplying (special.go). The blocks of a cluster may
// share a task (cluster.go). What is narrower than a matrix instruction has zeros beside it (pad.go). What is
// made of sums is stored a slice after the other (store.go). Exponentials are those of processors but in attentions of 16
// bits (exp.go).
//
// Invariant: a result does not depend on the order in which warps run: sums are in an order that
// the layout says.
// Imports backend/tile, backend/tile/schedule, backend/elementwise, backend/kernel, backend/gpu/{layout,ptx,thread}.
package lower
