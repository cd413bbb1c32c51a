// Package progress runs the programs of processes that wait for each other,
// without their computation. It finds out whether all of them end, or
// who waits for whom in a cycle, and when each step begins and ends.
//
// In: the steps of each process ([Step]): runs, messages sent and received over
// channels of bounded room, or posted and taken later, collectives of a group, at once or
// started and awaited. Out: the times of the steps, or a [*Fault].
// Invariant: the outcome does not depend on who goes first. A process waits for
// one particular message, for room in one particular channel or for the members
// of one particular collective, never for any of several, and no other process can undo
// what it waits for; such networks have one outcome at any speed (Kahn,
// "The Semantics of a Simple Language for Parallel Programming", 1974). So one
// run proves that all runs end.
//
// It proves schedules of pipelines, the programs of a pipeline's devices and the plans that
// are executed, so it is below all of them.
// Imports nothing of the module.
package progress
