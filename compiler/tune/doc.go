// Package tune finds schedules for the kernels of a plan by measuring.
//
// In: a plan, of which it reads the target and the kernels' texts alone, and a table of
// what is known from before. Out: a table of schedules (backend/tile/schedule) that a
// compilation takes, and a report of what was measured.
//
// Each kernel, and each section of a horizontal one, that has more than one way to be cut
// (backend/cpu/lower.Choices), a product in parts among them, is compiled in all of them, and these run in turns, on operands
// that are in no cache, with all threads, in this process. Ways that are clearly slower
// drop out; of those that are left the one of the least median is taken, where it gains
// [MinGain] at least over what the compiler takes by itself.
//
// Invariant: no code of the plan runs, and the plan is not changed.
package tune
