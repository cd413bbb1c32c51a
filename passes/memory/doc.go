// Package memory gives every value of ir(Fused) a fixed place in one arena per
// device and memory (the device's own, the host's, a file): ir(Planned).
//
// In: entry functions of kernel calls in their order, those of runs for one instance
// in the place of all. Out: attribute at on arguments (bytes from the arena's start)
// and operations (one offset per result), attribute spread where instances have each a
// place of their own, attribute micro_spread where microbatches have, and the metadata
// term arena. `enter`, `leave` and their like between ticks have a place as well: that
// of what enters and of what has left, where what is outside and what the instance or
// the tick before made lies.
// Invariant: no buffer is overwritten while its value is still to be read, of any
// instance and in any tick; new parameters and states are written where the old ones
// lie. check.go proves both by following ownership of every byte through the program, or
// through one with fewer instances and microbatches of which the proof holds for all
// (ir/excerpt), and ticks.go what depends on the table of ticks. They share no code with
// the planner but for the names of arguments, and the planner none with what they rest on.
//
// Why that proves it for all ticks. What an operation reads in a tick is of one of three
// kinds. What its own tick made (ticks.go: nothing else has no ring): nothing but this
// tick runs in between, which the excerpt has, with all places of every ring in its way.
// What another tick of its microbatch made, in a ring: a place of it is written by
// another microbatch only when the one that has it is through (ticks.go), by another
// value of its own microbatch in an order of ticks that the excerpt has, and by nothing
// else, since every task has a tick between the first and the last access to the ring
// in the excerpt, where all of the ring is in use so long. What is there once: every task
// has a tick between those that make or read it, and those come in the same order
// before and behind all others.
//
// The planner, in order: passes/memory/pitch pads rows that products had best copy in large pieces, where the
// target says so; update.go has new parameters written last, or copies them;
// accumulate.go has ticks add in place, or copies; chain.go makes what goes from instance
// to instance such that it can lie in a row, or copies it; args.go places arguments;
// layout.go puts values together that share a place, and inplace.go results over operands; frame.go arranges what instances
// keep, row.go what microbatches keep, and micro.go says what is in use between ticks.
// Offsets of buffers are found by passes/memory/place, on a timeline in which a run and a
// task stand once. When something is in use is a moment (moment.go): the place in the
// text, and in a run the iteration.
// Imports internal/diag, internal/ranges, internal/rolled, ir, ir/excerpt, ir/layout, ir/op, ir/fusion,
// ir/pipeline, ir/verify, passes/pass, passes/memory/pitch, passes/memory/place.
package memory
