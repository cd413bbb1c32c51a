// Command gemm measures matrix products of the generator of kernels, each as a
// share of the peak that a loop of independent multiply-adds reaches in the same
// process, and with those of a BLAS library if one is named.
//
// In: flags, see -help. Out: a table on standard output, medians over runs that
// take turns: product, library, peak, product, …
// Invariant: every product is compared with the library's, or with sums in
// float64 where there is none, before it is measured.
//
// GFLOP/s are 2·M·N·K (times the batch) over seconds; threads are those of a
// team of runtime/native, launch and barrier included.
// A product is what the compiler makes of it: where it sums in parts, both kernels are
// measured as one, and tasks are those of the first.
package main
