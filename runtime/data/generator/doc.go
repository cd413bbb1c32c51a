// Package generator connects to a program that sends examples, and reads them.
//
// In: a place (a command line, a socket, a descriptor) and an Ask, the request of the run. Out: the
// program's Answer, and the bytes after it: arrays in NumPy's format, which the caller reads, or
// Arrow record batches, which Arrow reads as columns.
//
//	ptc → program    one line of JSON, an Ask; also $PTC_STREAM of a command
//	program → ptc    one line of JSON, an Answer, which is optional; then arrays
//
// Invariants: Close ends a program that was started, and waits for it; a stranger's message
// allocates no more than the bytes it has sent, within limits; no call waits longer than its timeout.
// Of the module it imports nothing. Arrow's library stays here.
package generator
