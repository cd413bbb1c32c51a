// Package layout gives the directives of a parallel layout their types: one Go
// type for each, and one table of them.
//
//	layout { zero 3 over dp }  ─lang─▶  &Zero{Level: 3, Over: {dp}}  ─Encode─▶  meta layout(…, rules=[zero(level=3, over=(dp))])
//	meta layout(…)  ─Of─▶  typed rules  ─▶  the passes that act on them
//
// In: rules that lang has checked against a model, or the metadata of a module,
// also such as somebody wrote by hand. Out: terms of metadata, typed rules in the
// order of the source, or what is wrong with a term.
//
// Invariants: a rule that is encoded decodes to itself; [Check] finds whatever
// [Of] would leave out, and no term makes either of them panic. package verify
// runs Check on every module, so that a pass may rely on what Of returns.
//
// A new directive is its type in rules.go, whose method fields says once what its term
// is, for reading and writing, and a row of [Table]. Package lang/directive has its syntax
// and its checks.
//
// Imports ir, ir/op, ir/pipeline and internal/diag.
package layout
