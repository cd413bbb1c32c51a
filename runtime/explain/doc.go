// Package explain says what a plan does, for people and for programs.
//
// A plan goes in; out comes a Description, a structure that is printed as JSON
// with a version, or text: a summary that fits a few screens whatever the size
// of the plan, and sections that hold all of it. Where blocks of a model repeat,
// lines that differ in the number of the block alone are one line
// ("blocks.0..31.attn"). What the plan has once for every block, or for every
// microbatch of a pipeline, is counted for each, without being written out; devices that run the same are one class.
//
// Invariant: it reads the plan and nothing else, changes nothing, and says the
// same of the same bytes on every machine.
package explain
