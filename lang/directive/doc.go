// Package directive checks the layout that was chosen against the lowered model,
// and makes its directives typed rules (package ir/layout).
//
// In: a layout block, the model's parameters and instances, the types of its
// tensors. Out: mesh, rules and precision in the module's metadata, or mistakes
// with their places; warnings of what can change nothing.
//
//	directive.go  a layout from its choice to its terms
//	layout.go     what is known of it, and what paths select in the model
//	options.go    how options are read
//	rules.go      shard, forbid, overlap, plain options
//	pipeline.go, memory.go  the other directives
//	check.go      all rules together
//	idle.go       rules without effect
//
// Imports internal/diag, ir, ir/layout, ir/pipeline, lang/eval, lang/source,
// lang/syntax, lang/value.
package directive
