// Package sim runs a plan on a machine that is described and not there.
//
// In: a plan and a cluster. Out: when each device would do what: the time of a step by its causes.
//
//	plan ─classes.go─▶ classes of ranks ─job.go, events.go─▶ Job ─engine.go─▶ Result
//
//	classes.go   which ranks the machine and the mesh cannot tell apart: one of them is run for all
//	spread.go    how the groups of a mesh lie on the levels of a cluster
//	job.go       what each class does in a step
//	events.go    a task as events: kernels between two exchanges are one piece of work
//	host.go      what the host launches ahead of the device
//	eager.go     what kernels move in software that differentiates one operation after the other
//	again.go     what other software computes once more than the plan
//	flat.go      gradients that one collective reduces together
//	block.go     what an instance of a repeated module takes, for bounds of a search
//	steady.go    its time between others: a simulation of nothing but these
//	engine.go    the event loop: turns, streams, groups that meet
//	flow.go      exchanges under way, and how fast they go
//	result.go    time by cause
//
// A class has a compute stream, a stream for collectives in the order of its program, one for copies, and messages, which go
// as soon as both ends have come to them. Exchanges of one class that run at the same time share its links max-min fair: an
// exchange goes as fast as the slowest of its classes lets it. A started collective takes processors away from kernels.
//
// Invariants. Times are whole picoseconds, so a result is the same on every processor. No exchange is faster, and no kernel
// shorter, than it is when alone: so [Run] is never below [Free], the same run without contention. Each moment of a class has one
// cause, so that times by cause add up to the step.
//
// Imports backend/tile/schedule, foresight/cost, foresight/machine, internal/collective, internal/rolled, internal/wide, runtime/program (tests:
// ir/pipeline).
package sim
