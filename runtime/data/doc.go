// Package data provides the batches of a run.
//
// In comes a description that is pure data: the kind of source, its options as
// ordered key-value pairs, and the fields (name, dtype, global shape) that the
// step program reads. Out go the elements of those fields for a step number,
// written into memory that the caller owns.
//
// Text and tokens are in files: text is tokenized when a source is opened, token
// files stay where they are.
//
// The invariant: the batch of step s is a function of (data, seed, s) alone, and, for a
// run that resumes with another batch size or other data, of how many examples it has
// used of which source (Past). There is no cursor. A resumed run needs nothing else, a
// device may read any rows and columns of the global batch, and the parts that devices
// read always belong to the same batch. After Open nothing is written and nothing
// allocates (except documents of windows, and objects of stores), so devices may fill
// concurrently.
//
// A kind of source is one file that calls Register in its init; so is a
// tokenizer (RegisterTokenizer). Of the module the package imports
// internal/dtype, philox and units, runtime/tokenizer,
// runtime/checkpoint/safetensors, and its own storage, which opens files and objects of
// stores, and corpus, which reads documents of files.
package data
