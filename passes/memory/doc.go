// Package memory gives every value of ir(Fused) a fixed place in one arena per
// device and memory (the device's own, the host's, a file): ir(Planned).
//
// In: entry functions of kernel calls in their order, those of runs for one instance
// in the place of all. Out: attribute at on arguments (bytes from the arena's start)
// and operations (one offset per result), attribute spread where instances have each a
// place of their own, and the metadata term arena. `enter` and `leave` have a place as
// well: that of what enters and of what has left, where what is outside and what the
// instance before made lies.
// Invariant: no buffer is overwritten while its value is still to be read, of any
// instance; new parameters and states are written where the old ones lie. check.go
// proves both by following ownership of every byte through the program, or through one
// with fewer instances of which the proof holds for all (ir/excerpt), and shares no
// code with the planner but for the names of arguments.
//
// The planner, in order: update.go has new parameters written last, or copies them;
// chain.go makes what goes from instance to instance such that it can lie in a row, or
// copies it; args.go places arguments; layout.go puts values together that share a
// place; frame.go arranges what instances keep. Offsets of buffers are found by
// passes/memory/place, on a timeline in which a run stands once. When something is in
// use is a moment (moment.go): the place in the text, and in a run the turn.
// Imports internal/diag, internal/ranges, ir, ir/excerpt, ir/layout, ir/op, ir/fusion,
// ir/verify, passes/pass, passes/memory/place.
package memory
