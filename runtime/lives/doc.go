// Package lives says what lies in the memory of a device while a program runs.
//
// In comes a program that is written out. Out come its values, each with its place, the instructions between which it is
// needed, and what made it; and the instruction at which they hold most bytes.
//
// Invariant: no two values overlap in place and time.
//
// Imports internal/ranges and runtime/program.
package lives
