// Package memory gives every value of ir(Fused) a fixed place in one arena per
// device and memory (the device's own, the host's, a file): ir(Planned).
//
// In: entry functions of kernel calls in their order. Out: attribute at on
// arguments (bytes from the arena's start) and calls (one offset per result),
// and the metadata term arena.
// Invariant: no buffer is overwritten while its value is still to be read;
// new parameters and states are written where the old ones lie. check.go
// proves both by following ownership of every byte through the program, and
// shares no code with the planner.
// Offsets of temporaries are found by passes/memory/place.
// Imports ir, ir/op, ir/fusion, ir/verify, passes/pass, passes/memory/place.
package memory
