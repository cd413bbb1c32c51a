// Package stage cuts the repeated blocks of a model into pipeline stages and
// the batch into microbatches; level Global.
//
// In: the layout's pipeline rule, @step and @eval after autodiff. Out: every
// operation tagged with its virtual stage and phase (ir.Slot), and, in @step, what works
// on the batch for each microbatch, written once (see ir.Task).
// Invariant: results are unchanged. Microbatches are parts of one batch, as if
// the batch axis were sharded over a mesh axis that is walked in time: means
// keep the size of the whole batch, so gradients of microbatches just add.
// A microbatch is consecutive rows of each shard of the batch (rows.go), and an
// operation that relates rows of different microbatches is a user's error.
//
// How: an operation inside block k is on the stage that holds block k, its
// gradient as well, since gradients keep the scope of their operation.
// Operations outside of blocks follow their operands: what precedes the blocks
// is on the first stage, what follows on the last. A parameter lives on the
// first stage that reads it; its gradients, summed over the microbatches of
// each stage, come together there.
// What depends on data, constants and the numbers of the step alone, and is needed
// of the whole batch, is computed from that on each stage that needs it.
// Which device has which stage is the schedule's to say ([Placed]).
// What instances of a stack add up from zero, such as a term of the loss that each
// block has, is a sum of each microbatch (chain.go).
// Where representatives are asked for (pass.Stands), the text keeps the stages of some devices alone, with their
// own numbers (stands.go): of devices that do the same, those that need most places for what microbatches keep.
// Imports ir, ir/fusion, ir/layout, ir/op, ir/pipeline, passes/pass.
package stage
