// Package certify verifies certificates: that no layout of a space is better than the one that a search says is the best.
//
// In: a certificate (package foresight/certificate), what it must be about, and a compiler that probes layouts and compiles them.
// Out: a [Verdict], or the first thing that is false, as a [Fault].
//
//	certify.go    the checks, one after the other
//	subject.go    source, machine, limits
//	space.go      the space: the tree of choices, in its order
//	text.go       a layout as the text of a block
//	tree.go       the leaves cover the space
//	leaves.go     the reason of each leaf, and the winner
//	formulas.go   what the layouts of a part of the space take at least
//	flow.go       pipelines, for these formulas, and the blocks of each stage
//	reduction.go  the exchange of gradients, for these formulas
//	block.go      the layouts that tables are of
//	tables.go     the tables that leaves need, each by a probe
//	evaluate.go   the layouts among the leaves, each by a probe; the best ones by a full compilation
//	compile.go    what a layout takes, compiled and simulated
//
// Invariant: a certificate that is accepted is true as far as these are right: the compiler, package facts, the model of cost, the
// simulator, and the formulas of bounds, which are written down where they are computed. All else is derived here a second time
// from the same rules. Every number must equal the verifier's own: bounds that are too weak are refused as those that are too
// strong.
//
// It shares nothing with the search that writes certificates, and does not import it. Imports foresight/certificate,
// foresight/cost, foresight/facts, foresight/machine, foresight/sim, internal/collective, internal/wide, ir/auto, ir/pipeline,
// runtime/program.
package certify
