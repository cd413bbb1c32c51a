// Package auto gives `layout NAME auto { … }` its types: the question to which a layout is
// the answer.
//
//	layout best auto { mesh on h100 : 16 x 8  keep … allow … }  ─lang─▶  *Layout  ─search─▶  layout best { … }
//
// In: what lang has read and checked against a model. Out: a machine with its levels, the
// directives that every layout has, what may be chosen for the rest, and what is to be small.
//
// Invariant: a [Layout] that lang returns without errors leaves at least one value for each
// word of `allow`, and no kept directive contradicts one. Whether a layout fits the machine
// is for a search to find out.
//
// A new word of `allow` is a row of [Words]; a new objective is a row of [Objectives].
//
// Imports ir/layout, ir/pipeline and internal/diag.
package auto
