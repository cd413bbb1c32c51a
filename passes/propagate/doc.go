// Package propagate gives every value a state on every mesh axis:
// ir(Global) → ir(Sharded).
//
// In: the layout's rules (metadata), operations with their sharding rules.
// Out: types that say for each axis over which mesh axes it is sharded and
// which sums are owed; reshard operations where an operand is needed in
// another state than it has, each with the reason why.
// Invariant: every operation's operand states follow from its rule and its
// result's state; sizes and values are those of Global.
//
// How: names are the layout. For every operation and mesh axis at most one
// factor is sharded: the one that the strongest of these asks for
//
//	rule     `shard axis over mesh`, for an axis of that name
//	between  `shard axis over mesh between Module`: outside of what rules claim
//	operand  an operand is sharded so already
//	wish     an owed sum will be needed so (a gradient where the optimizer
//	         state is sharded)
//
// Where no factor is sharded and the operation is linear, owed sums pass to
// the result; otherwise they are settled before it. States of the forward and
// the backward pass come from the same rules, so one need not look back.
//
// What crosses stages of a pipeline is reduced first, in one sharding (received), and the optimizer hears no rule: it follows what is stored.
//
// What one operation at a time does not show is planned: where sums pass products,
// which are linear in either factor alone (a minimum cut), and whether parameters
// that zero cuts are gathered or followed. A plan is tried on a copy, and followed
// if devices then send less.
// Imports ir, ir/op, ir/pipeline, passes/pass, passes/stage.
package propagate
