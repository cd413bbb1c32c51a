// Package golden runs tests over archives of text: one file for each case,
// with the inputs and what every stage is expected to make of them.
//
// In: testdata/*.txtar and a function that reads sections with [Case.Input]
// and states results with [Case.Output]. Out: a failure with a diff for each
// section that differs, or, under the flag -update, the archive rewritten with
// what the function made.
// Invariant: every section of an archive is read or checked; one that nothing
// touches fails the test, so that no expectation is orphaned.
// For tests only. Imports nothing of ours.
package golden
