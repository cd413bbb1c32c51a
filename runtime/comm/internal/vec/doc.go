// Package vec is the arithmetic and the copying of collectives: sums and maxima of
// buffers in a fixed order, and parts of buffers viewed as [outer, parts, inner].
//
// In come buffers of one dtype, aligned to their elements; the result is written
// in place. Every transport reduces with this package, so that all give the same
// bits. It imports internal/dtype and runtime/comm.
package vec
