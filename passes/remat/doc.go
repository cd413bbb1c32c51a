// Package remat rematerializes activations: the backward phase computes them again
// instead of reading what the forward phase kept; level Global.
//
// In: the layout's recompute rules: modules, and members of them to keep; or
// auto, with a budget in bytes for what a device keeps. Out: @step in which the
// backward phase reads its own copies of forward operations, tagged
// [ir.Slot] so that fusion leaves them there.
// Invariant: results are unchanged, bit for bit: a copy has the operands of
// its original, random numbers included. Any set of operations may be
// rematerialized; what is chosen only decides memory and work.
//
// By rule: what stays is what enters a module, what leaves it to the forward
// pass outside, and the values of the members that are kept (Korthikanti et
// al., "Reducing Activation Recomputation in Large Transformer Models", 2022,
// where keeping all but the attention core is the selective form). Copies are
// made where the backward pass first needs them, so they live as briefly as
// the gradients in addition.
//
// What is over the queries and keys of an attention is rematerialized in any case,
// where the target has kernels of that class (attention.go): nothing stores it. The
// statistics of the softmax are kept where the result is. Under a pipeline, random numbers of
// a microbatch and masks made of them are drawn again by the backward phase, as every
// microbatch on its way would keep its own.
//
// By budget: in a compilation the driver tries plans ([Search] in search.go). A count of
// bytes proposes what each device does (side.go), the finished plan says what it takes,
// and the count is corrected by that; then come the rules that a user could write
// (written.go). A [Choice] takes the place of [Split] and [Run].
//
// The count (auto.go): the forward phase falls into regions, blocks and what is
// between them (region.go, uses.go). For each, front.go finds all ways to keep or redo
// its values that are best in bytes kept, bytes while its backward phase runs,
// and flops; knapsack.go takes one for each region, so that at every moment
// the budget holds with the fewest flops (device.go), and proves a bound. What is
// repeated is one region with many instances (unit.go), which [Run] decides alike;
// [Split] makes several stacks of one before that, where they had better differ. Sizes
// are those of one device (sizes.go), or of as many rows as there are at once (swept.go),
// microbatches in flight those of the schedule. Where these passes run alone, the count
// is all there is. Chen et al., "Training Deep Nets with Sublinear Memory Cost",
// 2016, is the same with all or nothing of a block; Jain et al., "Checkmate",
// 2020, has one integer program for the whole.
//
// Code of diagnostics: E0613 a budget that nothing fits in.
// Imports internal/diag, internal/openpath, ir, ir/fusion, ir/layout, ir/op, ir/pipeline, passes/pass,
// passes/propagate, passes/stage.
package remat
