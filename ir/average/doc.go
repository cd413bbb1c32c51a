// Package average says how a scalar of a batch, such as a loss, is averaged over the
// windows of many batches.
//
// In: a function of a batch, before it is cut, and one of its scalars. Out: the scalar as a
// sum of terms, each a quotient of two sums over the rows of the batch, with operations
// added to the function that compute those.
// Invariant: of the batches that a set of rows is cut into, the sums add up to those of one
// batch of all rows. So the quotient of the totals does not depend on the batch.
//
//	Σ w·l / max(Σ w, 1) + mean(z)   →   Σ w·l / max(Σ w, 1)  and  Σ z/B / 1
//
// A sum without a weight counts as the mean of one batch. What is no such quotient is a
// term of its own that is not exact: the mean of it over batches is all there is.
//
// How: values are rows of the batch, sums over rows, or depend on no row, by the sharding
// rules and the linearity of operations, as if each row were a microbatch (passes/stage).
// Imports internal/diag, ir, ir/op.
package average
