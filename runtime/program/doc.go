// Package program is the plan as pure data, and its codec.
//
// In: a backend fills a [Plan]. Out: bytes that [Decode] reads back on any
// machine, and that the runtime captures.
// Invariant: the same plan gives the same bytes; Decode accepts nothing that
// does not pass its checksum and [Plan.Validate], so the runtime can trust
// every index, offset and size it reads.
//
// A file is, with integers little-endian:
//
//	 0  "ptcplan\n"
//	 8  u32 format version
//	12  u64 length of the body in bytes
//	20  SHA-256 of the body
//	52  body: one CBOR map (RFC 8949, core deterministic encoding), keyed by
//	    the numbers in the struct tags; what is zero or empty is left out
//
// The body is not compressed: plans are small, and so their bytes depend on no
// compressor's version. A number in a tag is never given to another meaning
// without a new format version; a key that is not known is an error. What is added may
// so be read by later versions and not by earlier ones (docs/compatibility.md).
//
// What is repeated, such as a block, is there once: a [Program] has runs, and buffers,
// tensors and ports are those of every instance of a [Stack]. So is what a pipeline
// does for every microbatch: a program has tasks and a table of ticks, of which each may
// begin to receive what the next one waits for. [Plan.Expanded] writes all of it out, for
// what runs a plan; there is no other form below it.
//
// What Validate promises of a plan that it accepts: no instruction touches bytes
// outside of its buffers, or that another one uses for which it does not wait;
// every rank reaches its end, in whatever order they run, with the same
// collectives on all members of a group. What a plan computes it cannot know: a
// sum where a maximum was meant, another buffer of the same size, two devices'
// programs exchanged may be as good a plan of another model. There the checksum
// says that the plan is the one that a compiler wrote, and the compiler proves
// that this is the model's (packages ir/verify and passes/validate).
//
// Files use one another in one way, from the data to the proofs: a plan as it is in the file
// (plan, data, device, instr, comm, kernel); who is where in the mesh (mesh, ranks); the order in which
// instructions are issued (order, expand); what of a plan contradicts the rest of it
// (validate_*, hazards, meetings); and the codec, which holds plans to that.
//
// Imports internal/collective, internal/dtype, internal/formula, internal/openpath, internal/progress, internal/ranges,
// internal/regular, internal/rolled.
package program
