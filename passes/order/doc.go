// Package order says which calls of ir(Planned) must wait for those before
// them.
//
// In: calls with their places. Out: attribute wait on each call: true where it
// must not start before every earlier call has finished; false where it may
// run concurrently with those since the last wait, because neither touches a byte that
// the other writes. A call of a run waits for all instances, or for none; alone in its
// run it may wait for the first one, where no instance touches what another one writes.
// Invariant: running calls without wait in any interleaving gives the same
// bytes as running them in order.
// The first call of a task waits, so that calls since the last wait are of one tick.
// Collectives always wait; `enter` and `leave`, of runs and ticks, are no calls.
// [Check], in the verifier, proves it of waits that anyone wrote. Both look at few
// instances of a stack and few microbatches, which stand for all (ir/excerpt).
// Imports internal/diag, internal/ranges, ir, ir/excerpt, ir/op, ir/verify, passes/pass.
package order
