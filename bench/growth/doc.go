// Package growth tests that no pass takes more than linear time, or n log n, in the
// size of a program. It counts work and not time: a compiler that counts how often
// each block of its statements ran compiles models of more and more layers, and
// pipelines of more and more microbatches, rings of more and more devices, and the counts are fitted.
//
// In: the sources of ptc, examples/gpt. Out: a table of exponents, and the blocks
// that grow too fast.
// Copies and collection of memory are no statements: such work is seen by reading
// and by profiles alone.
package growth
