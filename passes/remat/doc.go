// Package remat computes activations again in the backward pass instead of
// keeping them; level Global.
//
// In: the layout's recompute rules (modules, and members of them to keep).
// Out: @step in which the backward pass reads its own copies of the forward
// operations inside those modules.
// Invariant: results are unchanged, bit for bit: a copy has the operands of
// its original, random numbers included.
//
// What stays is what enters a module, what leaves it to the forward pass
// outside, and the values of the members that are kept (Korthikanti et al.,
// "Reducing Activation Recomputation in Large Transformer Models", 2022, where
// keeping all but the attention core is the selective form). Copies are made
// where the backward pass first needs them, so they live as briefly as the
// gradients beside them.
// Imports ir, ir/op, passes/pass.
package remat
