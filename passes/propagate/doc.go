// Package propagate gives every value a state on every mesh axis:
// ir(Global) → ir(Sharded).
//
// In: the layout's rules (metadata), operations with their sharding rules.
// Out: types that say for each axis over which mesh axes it is sharded, and over
// which the value is partial; reshard operations where an operand is needed in
// another state than it has, each with the reason why.
// Invariant: every operation's operand states follow from its rule and its
// result's state; sizes and values are those of Global.
//
// How: names are the layout. Package factor traverses the operations, and shards for
// each operation and mesh axis at most one factor: the one for which the most speaks,
//
//	required  `shard axis over mesh`, for an axis of that name
//	asked     `shard axis over mesh between Module`: outside of what rules require
//	carried   an operand is sharded so already
//	wanted    a partial sum will be needed so (a gradient where the optimizer state
//	          is sharded)
//
// Where no factor is sharded and the operation is linear, partial sums pass to the
// result; otherwise they are reduced before it. The forward and the backward phase
// follow the same rules, so one need not look back.
//
// What factors leave open is decided by policies, in the order of one table
// (propagate.go): what the user's rules say (rules.go; order.go and refine.go have
// the mesh axes, in their order and in the parts that the rules need), what crosses
// the stages of a pipeline (stages.go), how parameters, gradients and optimizer state
// lie (storage.go), what each phase gathers for itself (regather.go), and what each
// microbatch does (micro.go). What one
// operation at a time does not show is tried on a copy, and followed if devices then
// send less: gathering parameters that zero shards, gathering rows before they are
// scattered (scatter.go), shards of the places that they are scattered to
// (slots.go; places.go finds them), and where partial sums pass products and casts, and do not
// pass what is linear (deferred.go, by a minimum cut).
//
// Before stages are made, [Regroup] tries propagations of a copy to find sums of which the partial terms
// are better added first (sums.go): ir(Global) → ir(Global). Results keep their values up to rounding.
// Imports internal/wide, ir, ir/layout, ir/op, ir/pipeline, passes/partition (what a reshard
// costs), passes/pass, passes/propagate/factor, passes/stage.
package propagate
