// Package search checks searches over layouts against brute force: each layout of small spaces is compiled in full and simulated, and
// the best one must be the one that the search finds with its probes and bounds.
//
// Only tests are in it. Imports compiler, foresight, ir/auto, lang/syntax.
package search
