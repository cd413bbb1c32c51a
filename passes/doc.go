// Package passes holds the table of passes and their driver.
//
// In: a module at level Global. Out: the module at level Planned, and the
// remarks of every pass.
// Invariant: the ordering constraints of the table hold at start-up; between
// passes the module verifies when the driver is asked to check.
// The passes of a parallel layout that one device does not need have their rows
// and levels; they refuse a layout on which they would have to act.
// What `recompute auto` rematerializes is decided before the passes that do it, by plans
// that are tried (settle.go).
// To add a pass: a folder with a function, a row in [Table], and its reasons to
// stand where it stands in [Constraints].
//
// Codes of diagnostics: E0601 a layout that cannot be executed, E0602 an
// unknown pass, E0603 a module of another level, E0604 and E0605 precision, E0613 a budget for activations.
// Imports internal/diag, ir, ir/verify, passes/pass and every pass.
package passes
