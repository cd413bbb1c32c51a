// Package schedule orders the work of a pipeline: which device runs which
// microbatch of which stage, when, and what it sends and receives in between.
//
// In: a [Shape] (devices along the pipeline's mesh axis, microbatches, chunks
// per device) and the name of a registered schedule. Out: a [Schedule], the
// ordered slots of every device; with [Communicate] a [Program], the same slots
// with the transfers between them; with [Simulate] the times, the bubble, the
// activations in flight and a timeline in text.
//
// Invariant: what [Prove] and [ProveProgram] accept runs to its end and does
// all of the work once. Every slot is present exactly once on its device and
// after what it reads, every message is sent and received once and in one
// order, no buffer is overwritten while it is live, and no bound on the
// messages in flight can make the devices wait for each other in a circle.
//
// The flow, and where each part is:
//
//	Shape ─New─▶ Schedule ─Communicate─▶ Program ─▶ expanded by a pass
//	                │                       │
//	                └── Prove, Simulate ────┴── ProveProgram, SimulateProgram
//
// Placement. A device holds v chunks of the model. The chunks of all devices
// form p·v virtual stages, numbered in the order of the model, and virtual stage
// s is on device s mod p as its chunk s div p:
//
//	p = 2, v = 2      device 0: stages 0 2      device 1: stages 1 3
//
// Boundary b lies between stage b and stage b+1. Activations cross it forward,
// gradients backward; each is a channel of its own with messages in order.
// Devices, stages, boundaries, chunks and microbatches count from 0, in the API
// and in every text.
//
// A schedule is one file that registers a [Row]; nothing else names it.
//
// Imports nothing of ours (tests: internal/golden).
package schedule
