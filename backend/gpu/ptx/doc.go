// Package ptx is PTX as data: the assembly that NVIDIA's drivers compile for their GPUs
// ("PTX ISA", NVIDIA, version 8).
//
// In: values of these types, or text. Out: a [Module], which prints as text that drivers
// and assemblers take, and which package emu executes.
//
// Only what is emitted here is known: an instruction is a name of parts joined by points,
// such as `ld.global.v4.b32`, and operands. Registers have a size and no type, as PTX allows:
// predicates %p, 16 bits %h, 32 bits %r, 64 bits %d; numbers of registers are counted by
// the printer.
//
// Invariant: [Parse] and [Module.String] are each other's inverse; text is the same for
// the same calls.
// Imports nothing of ptc.
package ptx
