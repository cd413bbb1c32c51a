// Package certify verifies certificates: that no layout of a space is better than the one that a search says is the best.
//
// In: a certificate (package foresight/certificate), what it must be about, and a compiler that probes layouts and compiles them. Out:
// a [Verdict], or the first thing that is false, as a [Fault].
//
//	certify.go   the checks, one after the other
//	subject.go   source, machine, limits
//	space.go     the space: the tree of choices, in its order
//	tree.go      the leaves cover it
//	leaves.go    the reason of each leaf, and the winner
//	formulas.go  what the layouts of a part of the space take at least
//	replicas.go  the exchange of gradients, for these formulas
//	flow.go      pipelines, for these formulas, and the blocks of each stage
//	tables.go    the tables of blocks, each by a probe
//	text.go      a layout as the text of a block
//	evaluate.go  layouts, each by a probe; the best ones by a full compilation
//
// Invariant: a certificate that is accepted is true, if those are right who are trusted: the compiler, package facts, the model of cost
// and the simulator; and if the formulas of bounds are, which are written down where they are computed. All else is derived
// here a second time from the same rules. Every number must equal the verifier's own: a certificate whose bounds are weaker than they could be
// is refused as one whose bounds are too strong.
//
// It shares nothing with the search that writes certificates, and does not import it.
// Imports foresight/certificate, foresight/cost, foresight/facts, foresight/machine, foresight/sim, internal/collective,
// internal/wide, ir/auto, ir/pipeline, runtime/program.
package certify
