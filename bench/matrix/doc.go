// Package matrix trains small models under many layouts, and compares each run
// with that of one device: a layout never changes the result.
//
// In: the sources of the examples, with small sizes and dropout, and the
// tables [Models] and [Layouts].
// Out: for each case the largest difference of the losses of five steps, of the
// gradients of the first one, and of the parameters after the last, or the error
// that kept it from running.
// Invariant: every case of the tables is compiled and run, in this process, with
// all its devices; none is skipped because it is known to fail.
// Imports compiler, runtime/exec, runtime/program.
package matrix
