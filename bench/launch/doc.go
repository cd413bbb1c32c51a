// Package launch compares `ptc layout` with the software whose configurations it translates: `make launch-check`.
//
// In: published configurations of Megatron-LM, torchtitan, Megatron-DeepSpeed and MaxText, and their sources,
// fetched into a folder that is removed afterwards; sources.txt has the commits. check.py translates each
// configuration to a source and back, and parsers.py reads the original and the result by the software's own parser,
// with its own checks. Out: how many are equal, and a line for each that is not, or that ptc or the parser refuses.
//
// Invariant: no configuration that ptc translates differs after both translations. What may be said in two ways is
// listed in check.py. Nothing of other software is kept here.
package launch
