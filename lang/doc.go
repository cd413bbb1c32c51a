// Package lang gives programs their meaning: it resolves names and imports,
// evaluates the config, instantiates modules, checks every shape by the names
// of its axes, and lowers model, training and layout to ir at [ir.Global].
//
//	.ptl ─syntax─▶ tree ─Load─▶ Program ─Lower─▶ ir.Module (@step, @eval)
//
// In: the main file's text and an [Importer] for the user's other files;
// std.* comes from package stdlib. Then [Options]: overrides of config
// entries, the layout's name, the compute dtype.
// Out: a [Result] with the module, or every mistake found, each with a stable
// code and its place. A mistake yields an unknown value that silences whatever
// follows from it, so that several independent mistakes show in one go.
//
// Invariants: a program never panics and takes bounded time and memory (see
// package lang/source); the same program and options give the same module.
//
// With [Options].Omit, instances of repeated modules that are alike are omitted, and
// [Result].Omitted says which; a package above makes stacks of the rest.
//
// With [Options].Sample the module has @sample alone, the forward phase from tokens to
// logits.
//
// Functions are inlined and loops unrolled, so that the module is one straight
// line of operations; an operation's scope is the path of the module instance
// (blocks.3.attn) and its position that of the expression.
//
// The rooms, each of which imports those above it:
//
//	syntax     text and tree
//	source     files, imports, declared names
//	value      what expressions evaluate to
//	eval       names, config, shapes, calls, modules
//	builtin    the functions of the language
//	train      the train block: @step and @eval; @sample
//	directive  the layout: its directives, and typed rules of them
//	keymap     what other programs call the parameters
//
// Imports these, ir, ir/auto, internal/diag, stdlib.
//
// # Error codes
//
//	E0201  unknown name
//	E0202  a name declared twice
//	E0203  unknown axis
//	E0204  an axis without a size
//	E0205  an axis in two sizes
//	E0206  arguments that do not fit the function
//	E0207  dtypes that do not fit
//	E0208  not the declared type
//	E0209  a value of the wrong kind
//	E0210  operands that do not fit the operation
//	E0211  an axis named twice
//	E0212  an import that cannot be read, or a cycle of them
//	E0213  a config entry that is no constant
//	E0214  an override of an unknown config entry
//	E0215  an override of the wrong type
//	E0216  a size or count out of range
//	E0217  a function that returns nothing
//	E0218  a program too large, or recursion without end
//	E0219  a condition or value that must be known at compile time
//	E0220  a parameter's initial values
//	E0221  a declaration in the wrong place
//	E0222  operands that each lack an axis of the other
//	E0223  a name or path that is too long
//	E0230  an import from outside the folder of imports
//	E0401  unknown layout
//	E0402  an axis that no tensor has, in a layout
//	E0403  unknown mesh axis
//	E0404  an axis sharded twice
//	E0405  a mesh axis used twice in one tensor
//	E0406  a size that the mesh does not divide
//	E0407  microbatches that do not divide the batch
//	E0408  a pipeline over something that does not repeat
//	E0409  more stages than blocks
//	E0410  unknown schedule
//	E0411  unknown level of zero
//	E0412  unknown module or parameter, in a layout
//	E0413  precision
//	E0414  the mesh itself
//	E0415  an option of a directive
//	E0416  a device's memory
//	E0417  unknown collective
//	E0418  offloading
//	E0419  blocks of stages given by hand that do not add up
//	E0420  recompute auto without a budget
//	E0421  the mesh axis of a pipeline in another rule
//	E0422  zero over devices that all do the same work
//	E0423  a rule that another one undoes
//	E0430  an auto layout where an ordinary one is needed, or the reverse
//	E0431  the machine of an auto layout
//	E0432  an unknown word of `allow`, `limit` or `minimize`
//	E0433  a word or value of an auto layout twice
//	E0434  a value that a word of `allow` does not take
//	E0435  bounds of `allow` that leave no size
//	E0436  a kept directive that `allow` or `limit` excludes
//	E0437  an invalid `limit memory`
//	E0438  a directive that cannot be kept
//	E0501  nothing to train
//	E0502  more than one model or train block, or an unknown model
//	E0503  unknown entry of train
//	E0504  missing entry of train
//	E0505  a loss that is no scalar
//	E0506  an optimizer
//	E0507  what an optimizer computes
//	E0508  a learning rate that is no scalar
//	E0509  a source of data
//	E0510  freeze leaves nothing to train
//	E0511  a parameter that there is not, since its condition is false
//	E0512  a parameter that validation alone reads
//	E0513  an adapter of a parameter that no product reads
//	E0514  a metric that is no scalar, or that reads what is not trained
//	E0515  a stop block that cannot end training
//	E0516  epochs that say nothing, or another thing than steps
//	E0706  sources of a mixture with different fields
//	E0710  an entry of a block of names
//	E0711  an open number that a name and a path do not share
//	E0712  a path that is of no parameter
//	E0713  axes after `as` that are not the parameter's
//	E0714  two rows of one tensor
//	E0715  a parameter without a row
//	E0716  a parameter in two rows
//	E0717  pieces that cannot be put together
//	E0718  a key of the other program's config
//	E0720  a model of which nothing says what follows tokens
//	E0730  an axis of a sweep that is no entry of the config
//	E0731  an axis of a sweep without values
package lang
