// Package stdlib is the standard library of the language: .ptl files, embedded.
//
// In: nothing. Out: the text of `std.nn` and its siblings, by [Read].
// Invariant: every file parses, is formatted, and depends on the language
// alone; there is no operation here that a user's file could not write.
//
// The folder models has whole models of published families, std.models.llama: what a
// file imports of them is its config, its model and its training.
//
// Two of the files, [Implicit], are in the scope of every file without an
// import: activations and softmax (std.math), and schedules of the learning
// rate (std.schedule).
//
// To add a layer: nn.ptl. An optimizer: optim.ptl. A schedule: schedule.ptl. A
// source of data: data.ptl, and a reader that registers itself in runtime/data. A family of models: a file in models; docs/weights.md says what is in it.
// Imports nothing of ours.
package stdlib
