// Package generator connects to a program that gives examples, and reads what it sends.
//
// In: a place (a command line, a socket, a descriptor) and an Ask, what the run wants. Out: the
// program's Answer, and the bytes behind it: arrays of NumPy's format, which the caller reads, or
// record batches of Arrow, which Arrow reads as columns.
//
//	ptc → program    one line of JSON, an Ask; also $PTC_STREAM of a command
//	program → ptc    one line of JSON, an Answer, which may be left out; then arrays
//
// Invariants: a program that was started is ended, and waited for, by Close; what a stranger sends
// allocates no more than it has sent, within limits; no call waits longer than its time.
// Of the module it imports nothing. Arrow's library stays here.
package generator
