// Package keymap gives blocks of names their meaning: how another program calls the
// parameters of a model, and how their elements lie there.
//
// In: the `names` blocks of the file that declares the model, and the model's
// parameters. Out: a [Map] for each block, in which nothing is open: every tensor of
// the other program with the pieces of parameters that it consists of, each as a
// slice, sizes, an order and a shape, so that who executes it knows nothing of axes.
//
// Invariant: a map is total and bijective: each element of each parameter is in
// exactly one place of one tensor, and each place of a tensor has one element.
// Imports internal/diag, ir, lang/eval, lang/source, lang/syntax, lang/value.
//
// # Error codes
//
//	E0710  an entry of a block of names
//	E0711  an open number that a name and a path do not share
//	E0712  a path that is of no parameter
//	E0713  axes after `as` that are not the parameter's
//	E0714  two rows of one tensor
//	E0715  a parameter without a row
//	E0716  a parameter in two rows
//	E0717  pieces that cannot be put together
//	E0718  a key of the other program's config
package keymap
