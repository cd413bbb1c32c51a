// Package recipes checks published pretraining recipes against closed forms: the memory of
// a device, the bytes that devices of tensor, data and pipeline parallelism send,
// and the number of attention kernels, at the sizes and in the precision of the
// publication.
//
// In: a table of recipes, each with its source, and models in .ptl next to it. Layouts of Megatron-Bridge (bridge.go) and the
// models are also for bench/search/published, which compares published layouts with those of a search.
// Out: for each recipe a compiled plan for a GPU, compared with the forms; nothing runs.
// Invariant: every bound is computed from the recipe's sizes by a formula with a source.
package recipes
