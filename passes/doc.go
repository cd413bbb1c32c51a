// Package passes holds the table of passes and their driver.
//
// In: a module at level Global. Out: the module at level Planned, and the
// remarks of every pass.
// Invariant: the ordering constraints of the table hold at start-up; between
// passes the module verifies when the driver is asked to check.
// To add a pass: a folder with a function, and a row in the table.
// Imports ir.
package passes
