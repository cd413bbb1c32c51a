// Package kerneltest is what tests of kernels need: an interpreter of the
// loop/tile form in pure Go, which is what the form means, and the float64 values
// that expansions of math calls are measured against.
//
// In: a kernel and its buffers. Out: what the tasks make of the buffers, or an
// error where native code would go wrong silently.
// Imports backend/kernel.
package kerneltest
