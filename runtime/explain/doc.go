// Package explain describes a plan, for people and for programs.
//
// A plan goes in; out comes a Description, a structure that is printed as JSON
// with a version, or text: a summary that fits a few screens whatever the size
// of the plan, and sections with everything. Lines that differ only in the number of a
// repeated block are merged ("blocks.0..31.attn"). Instructions that the plan stores once
// for every block, or for every microbatch of a pipeline, are counted for each, without
// expanding them; devices with the same program are one class.
//
// Invariant: it reads only the plan, changes nothing, and gives the same output for the
// same bytes on every machine.
package explain
