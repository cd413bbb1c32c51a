// Package collectives makes what devices say to each other less, and fit the
// links that it goes over: ir(Local) → ir(Local).
//
// In: the program of every device, with the collectives that partition put in
// for one reshard at a time. Out: the same, where
//
//   - collectives that follow one another are planned anew, as the one reshard that
//     they are together, and meet through elementwise work and casts (rules.go,
//     rules_through.go): no rule sends more bytes than before;
//   - a large collective over mesh axes that the layout names in one list,
//     `over (node, local)`, is one within nodes and one across (levels.go).
//
// Invariant: results are the same, bit for bit where only the first happens to
// what is not summed; sums may be of other groups, so equal up to rounding. All
// devices still issue the same collectives in the same order, since all run one
// program. No collective is of a kind that `forbid` names, unless it was before.
//
// A value that is communicated twice on purpose stays so: what is gathered for
// the forward pass and again for the backward pass (ZeRO 3, recomputation) is not
// taken for the same.
// Imports ir, ir/layout, ir/op, passes/partition, passes/pass.
package collectives
