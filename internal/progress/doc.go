// Package progress runs the programs of processes that wait for each other,
// without what they compute: it says whether all of them come to their end, or
// who waits for whom in a circle, and when each step begins and ends.
//
// In: the steps of each process ([Step]): runs, messages sent and received over
// channels of bounded room, or posted and taken later, collectives of a group, at once or started and waited
// for. Out: the times of the steps, or a [*Fault].
// Invariant: the outcome does not depend on who goes first. A process waits for
// one particular message, for room in one particular channel or for the members
// of one particular collective, never for any of several, and what it waits for
// is not undone by others; such networks have one outcome at any speed (Kahn,
// "The Semantics of a Simple Language for Parallel Programming", 1974). So one
// run proves that all runs come to their end.
//
// Schedules of pipelines, the programs of a pipeline's devices and the plans that
// are executed are proved by it, so it is below all of them.
// Imports nothing of ours.
package progress
