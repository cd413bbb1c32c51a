// Package compiler chains the language, the passes and a backend: it is the
// only place that knows all three.
//
// In: a source file with what it imports, overrides, a layout, a target.
// Out: a plan, the text of the module after each pass, remarks, timings; the
// result of translation validation; formatted sources; what was found on this
// machine.
// Invariant: the same inputs give a byte-identical plan on any machine for the
// same target.
// Imports lang, passes, backend, runtime/program, internal/diag, internal/openpath.
package compiler
