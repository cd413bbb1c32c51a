// Package sample continues sequences of tokens by a plan that computes the logits of
// one position after the other: what `ptc sample` does.
//
// In: a plan whose one program is sample, parameters, prompts, and how to choose. Out:
// tokens, as they are chosen.
// Invariant: what follows a prompt is a function of the plan, the parameters, the
// prompt and the options alone. It depends neither on the other prompts of a batch nor
// on threads, but for the rounding of kernels that are cut by the batch: random numbers
// are keyed by the seed, the prompt and the position.
//
// Positions are run from the first one of the prompt on, so that the caches of the plan
// hold what is before; they are set to zero before each batch of prompts.
//
// Imports internal/dtype, internal/philox, runtime/checkpoint, runtime/exec,
// runtime/program.
package sample
