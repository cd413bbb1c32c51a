// Package commtest is the conformance suite of transports.
//
// In comes one device of a mesh, on every process that has one; the suite runs
// operations among all of them, compares each result with one computed here from
// the inputs of all members, and gives a digest of all bits, which must be the
// same under every transport. It imports runtime/comm and runtime/program.
package commtest
