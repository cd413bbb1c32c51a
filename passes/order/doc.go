// Package order says which calls of ir(Planned) must wait for those before
// them.
//
// In: calls with their places. Out: attribute wait on each call: true where it
// must not start before every earlier call has finished; false where it may
// run beside those since the last wait, because neither touches a byte that
// the other writes.
// Invariant: running calls without wait in any interleaving gives the same
// bytes as running them in order.
// Collectives always wait.
// [Check], in the verifier, proves it of waits that anyone wrote.
// Imports internal/diag, ir, ir/op, ir/verify, passes/pass.
package order
