// Package pipeline says where the stages of a pipeline are and in which order its
// devices work: which device has which stage, and runs which microbatch of it when.
//
// In: a [Shape] (devices along the pipeline's mesh axis, microbatches, chunks per
// device), the name of a registered schedule, and [Costs] of the stages. Out: a
// [Placement], the device of every virtual stage; a [Schedule], the ordered slots of
// every device; with [Simulate] the times, the bubble, the activations in flight and
// a timeline in text.
//
// Invariant: what [Prove] accepts runs to its end and does all of the work once.
// Every slot is present exactly once, on the device that has its stage and after
// what it reads; every stage takes the microbatches in order; and no bound on the
// messages in flight makes the devices wait for each other in a circle.
//
// Placement. A device holds v chunks of the model. The chunks of all devices form
// p·v virtual stages, numbered in the order of the model. A schedule lists the device
// of each:
//
//	p = 2, v = 2      device 0: stages 0 2      device 1: stages 1 3      Loop
//	                  device 0: stages 0 3      device 1: stages 1 2      Fold
//
// Boundary b lies between stage b and stage b+1. Activations cross it forward,
// gradients backward; each is a channel of its own with messages in order. Where
// both stages are on one device nothing is sent: they hand over in memory. Devices,
// stages, boundaries, chunks and microbatches count from 0, in the API and in every
// text.
//
// A schedule is one file that registers a [Row]; nothing else names it. Its slots
// are listed by a formula, or by the list scheduler (greedy.go) from the placement,
// the costs and a limit of memory.
//
// It knows nothing of the IR: the language takes the names of schedules from here,
// and the passes their slots.
// Imports internal/progress (tests: internal/golden).
package pipeline
