// Package partition makes shapes those of one device and reshards explicit:
// ir(Sharded) → ir(Local).
//
// In: stated values and reshard operations. Out: the program that every device
// runs, with collectives in the place of reshards, and permutes or slices in the
// place of takes (take.go).
// Invariant: the devices' results, joined as their types say, are the global
// results.
//
// A reshard, in the abstract (sharding.go), is a way from one sharding to another
// by collectives (steps.go). Of all ways over whole mesh axes, the one that sends
// the fewest bytes is looked for (search.go), also with axes split by the mesh axes
// that shard them (split.go); it never sends more than a fixed order of collectives
// does (fixed.go). Where a way over parts of mesh axes sends less (refine.go), the
// module's mesh is refined before any reshard is done (mesh.go). Mesh axes over which
// a value is replicated before and after stay out of it: replicas do not share work.
// Imports internal/diag, ir, ir/layout, ir/op, passes/pass.
package partition
