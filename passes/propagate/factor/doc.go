// Package factor propagates shardings along the factors of operations: the core of
// pass propagate, which has the policies.
//
// In: a function, the states in which its arguments lie and its results leave, and
// policies. Out: the same function, where each type is the state of its value on
// every mesh axis (sharded along an axis, partial, or replicated), and reshards
// where an operand is needed in another state than it has.
//
// As in Shardy and GSPMD (Xu et al., "GSPMD: general and scalable parallelization
// for ML computation graphs", 2021, section 3.5), an operation is a list of factors,
// the dimensions of its iteration space, each of which is an axis of some operands
// and results. A mesh axis shards at most one factor of an operation:
//
//	dot(x[batch, embed], w[embed, ffn])     factor   over    x, w, result
//	                                        batch    dp      batch@dp, ·, batch@dp
//	                                        ffn      tp      ·, ffn@tp, ffn@tp
//	                                        embed    -       a sum: the result would be partial
//
// One traversal in the order of the operations chooses, for each operation and mesh
// axis, the factor for which the most speaks: that an operand is sharded so already,
// and what the policies prefer. States of operands and results follow from it.
// Nothing here knows an operation, a directive of the layout or a policy by name.
// Imports ir, ir/op.
package factor
