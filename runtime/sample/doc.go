// Package sample continues sequences of tokens by a plan that computes the logits of
// one position after the other: what `ptc sample` does.
//
// In: a plan with the program sample, parameters, prompts, and how to choose. Out:
// tokens, as they are chosen.
// Invariant: what follows a prompt is a function of the plan, the parameters, the
// prompt and the options alone. It depends neither on the other prompts of a batch nor
// on threads, but for the rounding of kernels that are cut by the batch: random numbers
// are keyed by the seed, the prompt and the position.
//
// Caches are set to zero before each batch of prompts. Prompts are read by blocks of
// positions where the plan has a program for them; then positions are run one after the
// other, each sequence at its own. What is in the caches behind a sequence's position,
// as padding leaves it, is written again before it counts. A plan without caches is given
// all tokens up to the position, or the last ones of a window that slides (window.go).
//
// Imports internal/dtype, internal/philox, runtime/checkpoint, runtime/exec,
// runtime/program.
package sample
