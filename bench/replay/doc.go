// Command replay compiles a corpus with two builds of ptc and compares their plans byte by byte:
// `make replay BASE=rev`.
//
// In: two binaries, and the corpus, which is the examples, the models of std.models, the layouts of
// bench/matrix and the recipes of bench/recipes, each for one or several targets. Out: each case
// whose plans differ, with the first pass after which the IR differs and the first lines of
// `ptc explain` that differ; exit code 1 if there is any.
// If the next build has other words for the same (-words fetch=host_to_device) or other texts of some part
// (-except Remarks), the decoded plans are compared without that difference.
// Invariant: the corpus is that of this source tree, and both builds get the same files and flags. A case
// that both builds reject with the same message is equal; it is counted.
// Imports bench/matrix, bench/recipes, runtime/program and the standard library: the two builds run as
// processes.
package main
