// Package tokenizer turns text into tokens and back, with the tokenizers that
// models come with.
//
// In comes a file: Hugging Face's tokenizer.json, ranks of tiktoken, or a model
// of SentencePiece. Out comes a Tokenizer, which gives the numbers that the
// program of the file's format gives, token by token.
//
// The invariant: equal bytes of the file and equal text give equal tokens. What
// of a format is not known here is an error when the file is opened; nothing is
// approximated. Text that is not UTF-8 is read as those programs read it.
//
// A file is a stranger's: its size is limited, and no bytes of it lead to more
// than an error. Of the module the package imports internal/regular and units.
package tokenizer
