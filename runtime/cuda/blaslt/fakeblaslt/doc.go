// Package fakeblaslt is cuBLASLt for tests, made of Go functions that are called as the library's are.
//
// In comes a driver of package fakecuda, how long algorithms take and which calls are to fail. Out come
// addresses of functions, for [ptc/runtime/cuda/blaslt.Use], which behave as cublasLt.h of CUDA 12.4 says
// and do nothing that helps a caller who is wrong:
//
//	products     are summed in float64 and rounded to f32, and then to what the result is of
//	algorithms   are for the descriptors and alignments that they were offered for alone
//	strict       an unknown handle, a result over a factor, addresses less aligned than was said,
//	             less workspace than is needed: an error, and a problem that tests look at
//
// The invariant: the same calls with the same options do the same. There is one library at a time,
// as C functions cannot be taken back: the last one that was made.
//
// Imports: runtime/cuda/fakecuda and runtime/cuda/fakelib. Only tests import it.
package fakeblaslt
