// Package data gives a run its batches.
//
// In comes a description that is pure data: the kind of source, its options as
// ordered key-value pairs, and the fields (name, dtype, global shape) that the
// step program reads. Out go the elements of those fields for a step number,
// written into memory that the caller owns.
//
// Text and tokens are in files: text is tokenized when a source is opened, files
// of tokens stay where they are.
//
// The invariant: what step s is fed is a function of (data, seed, s) alone, and, for a run that goes on with
// another batch or other data, of how many examples it was fed of what (Past).
// There is no cursor. A resumed run needs nothing but that, a device
// may ask for any rows and columns of the global batch, and the parts that
// devices ask for are always parts of the same batch. After Open nothing
// allocates (but for documents of windows, and objects of stores) and nothing is written to, so devices may fill concurrently.
//
// A kind of source is one file that calls Register in its init; so is a
// tokenizer (RegisterTokenizer). Of the module the package imports
// internal/dtype, philox and units, runtime/tokenizer,
// runtime/checkpoint/safetensors, and its own storage, which opens files and objects of
// stores, and corpus, which reads documents of files.
package data
