// Package gpu generates code for GPUs: tile programs, what their threads do, PTX.
//
// In: kernel functions. Out: a few modules of PTX, in which each kernel is an entry whose tasks
// are blocks of threads.
// Invariant: the target's name alone decides the text. No library is needed to make it.
// Imports backend, backend/gpu/{choose,lower,ptx,target}, backend/nest, backend/tile, internal/diag,
// ir, ir/fusion, runtime/program.
package gpu
