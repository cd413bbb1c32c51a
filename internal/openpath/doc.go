// Package openpath reads and writes paths and scopes in which the number of a
// repeated module is open.
//
// Also here is what patterns of paths are: `blocks.*.attn.w*` ([Match]).
//
// In: `blocks.{i}.mlp.w1`, with `{i+3}` in a list of modules from number 3 on and
// `{2i+1}` where an instance is of two modules. Out: the path of an instance.
// Invariant: what [Open] writes [Parse] reads.
// Imports nothing of ours.
package openpath
