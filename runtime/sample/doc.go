// Package sample continues sequences of tokens with a plan that computes the logits of
// one position after the other: `ptc sample`.
//
// In: a plan with the program sample, parameters, prompts, and how to choose. Out:
// tokens, as they are chosen.
// Invariant: the continuation of a prompt is a function of the plan, the parameters, the
// prompt and the options. It depends neither on the other prompts of a batch nor
// on threads, except for the rounding of kernels whose tiling depends on the batch: random
// numbers are keyed by the seed, the prompt and the position.
//
// Caches are set to zero before each batch of prompts. Blocks of positions read prompts
// if the plan has a program for them; then positions run one after the
// other, each sequence at its own. Rows of the caches after a sequence's position,
// such as padding leaves, are overwritten before they count. A plan without caches reads
// all tokens up to the position, or the last ones of a sliding window (window.go).
//
// Imports internal/dtype, internal/philox, runtime/checkpoint, runtime/exec,
// runtime/program.
package sample
