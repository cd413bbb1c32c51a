// Package search finds the best layout of a model for a cluster, with a certificate of why no other one of its space is better.
//
// In: facts of the model, a space of layouts, a cluster, and a prober that compiles a layout without code. Out: [Found], the
// best layout with its simulated step and memory, and a certificate (package foresight/certificate).
//
//	space.go     what is searched: the branches of a tree, one dimension after another
//	choice.go    a path in the tree, and the layout block that it is
//	bound.go     what a layout takes at least, by the model and by its blocks
//	stages.go    the flow of a pipeline, and how blocks are divided among stages
//	table.go     what a block takes, by a probe of its own
//	evaluate.go  what a layout takes, by a probe
//	find.go      the least bound first: branch, bound, evaluate
//	proof.go     the certificate
//	around.go    the next best layouts, and those with less memory
//	inside.go    whether a layout is in a space
//	remember.go  a prober that compiles each layout once
//
// A leaf of the tree is a layout. Its value is the simulated step of its probe, which is that of a full compile. A branch
// has a bound: the simulator's own sum with something left out, so that no layout below it is faster; and a least size in
// memory. The search takes the branch with the least bound first, and ends when no branch that is left could be better. So
// what it finds is the best of the space under the model of cost, and what says so is the list of branches with
// their bounds.
//
// Invariant: the result depends on the inputs alone, not on time, processors or the order in which anything was found: of equal
// layouts the first one in the tree's order is best.
//
// Imports foresight/certificate, foresight/cost, foresight/facts, foresight/machine, foresight/sim, internal/collective,
// internal/wide, ir/auto, ir/pipeline, runtime/program.
package search
