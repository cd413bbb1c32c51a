// Package recipes holds published recipes of pretraining to their closed forms: what a
// device needs of memory, what the devices of tensor, data and pipeline parallelism send,
// and how many kernels compute attention, at the sizes and in the precision of the
// publication.
//
// In: a table of recipes, each with its source, and models in .ptl next to it.
// Out: for each recipe a compiled plan for a GPU, compared with the forms; nothing runs.
// Invariant: every bound is computed from the recipe's sizes by a formula with a source.
package recipes
