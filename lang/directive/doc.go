// Package directive has the directives of layouts, and makes those of the layout that was
// chosen typed rules (package ir/layout).
//
//	decl ─read─▶ []rule ─check─▶ warnings ─▶ metadata
//
// In: a layout block, the model's parameters and instances, the types of its
// tensors. Out: mesh, rules and precision in the module's metadata, or mistakes
// with their places; warnings of what can change nothing.
//
//	layout.go  the stages, from a choice to its metadata
//	model.go   the lowered model: what paths and axes select in it
//	read.go    stage 1 reads each directive by itself: its options and paths
//	check.go   stage 2 checks all rules together
//	shards.go  axes that rules shard, in every tensor
//	form.go    the table of directives
//	auto.go    an auto layout: what may be chosen, and kept directives, to types of ir/auto
//
// Every directive has a file: its node in the tree, whose tags are its grammar; its form
// in the table; how it is read and checked. The node is here and not in lang/syntax, so
// that one file says everything: the words, the grammar's union, completion, help, and the
// grammars of editors follow from the table. lang/syntax takes the nodes by registration,
// as it may not import this package; a program that parses and does not import it
// panics at its first text.
//
// Imports internal/diag, internal/dtype, ir, ir/auto, ir/layout, ir/pipeline, lang/eval,
// lang/source, lang/syntax, lang/value.
package directive
