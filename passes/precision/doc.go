// Package precision decides the dtype of every value of the step.
//
// In: a module at level Global after autodiff, in float32, and its metadata
// precision(compute=bf16, params=bf16, reduce=f32), each part of which is f32
// where it is not given. Out: the same mathematics with casts.
// Invariant: results keep the dtypes of the arguments that they update; gradients
// and optimizer states are float32.
//
// With params=bf16, parameters of float32 are arguments in bf16. Each that is
// updated has a master, a state in float32 (Micikevicius et al., section 3.1),
// which operations behind gradients read in its place; the new parameter is the
// new master, rounded.
//
// With reduce=bf16 and several devices, gradients are cast to bf16 as the terms
// of partial sums (op.AttrPartial) and back.
//
// With compute=bf16, after Micikevicius et al., "Mixed Precision Training"
// (2018), section 3, for operations between the inputs and the loss and back
// to the gradients:
//
//   - contractions read the compute dtype and accumulate in float32. Their
//     result is stored in the compute dtype. It leaves in float32 where it is a
//     gradient of a parameter; and, if only statistics read it, where it is never
//     stored (scores of an attention that is a kernel) or small;
//   - all other arithmetic is done in float32, as a fused kernel does it in
//     registers. So softmax, normalizations and losses lose nothing;
//   - what several operations read is stored in the compute dtype if one of
//     them is a contraction, or if it is a sum of several streams (the residual
//     stream): then all of them read that. What is over the queries and keys of an
//     attention that is a kernel is stored nowhere, and what several attentions add
//     up, as the steps of a ring do, stays in float32 up to the last sum;
//   - an argument is cast for each phase, so that its copy in the compute dtype is
//     not kept between them; where there are microbatches, once for all of them;
//   - movement, a gather of rows, and a choice between two tensors keep the dtype in
//     which their operands are stored. A weighted sum of rows that were gathered is stored
//     in the compute dtype, as a contraction's result, and so is what several operations
//     read of which one scatters rows, weighted, for a contraction: the gradient of such a
//     sum. What is moved on its way to a contraction, and rows gathered of what was
//     computed that a contraction depends on, are stored in the compute
//     dtype first: so tokens travel to experts and back in it.
//
// With products=f8, linear products (products.go: those of parameters and activations, of
// the modules that `on` names, and their gradients) read f8e4m3, and f8e5m2 where an
// operand is a gradient, each a multiple of its unit: the largest magnitude that the tensor has now, by
// the largest number of the format (float8.go; Micikevicius et al., "FP8 Formats for Deep
// Learning", 2022). Sums are float32, and are multiplied by both units. Each microbatch
// has units of its own.
//
// What comes after a gradient (clipping, the optimizer) and what no loss
// depends on (the learning rate) stays float32.
//
// Where the target asks for exact arithmetic, every float is f64 instead and
// the rule is not looked at.
// Imports internal/diag, internal/dtype, internal/openpath, ir, ir/fusion, ir/layout, ir/op, passes/pass.
package precision
