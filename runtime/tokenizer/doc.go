// Package tokenizer turns text into tokens and back, with the tokenizers that
// models come with.
//
// In comes a file: Hugging Face's tokenizer.json, tiktoken ranks, or a SentencePiece
// model. Out comes a Tokenizer, which returns the same numbers as the
// reference program of the format, token by token.
//
// The invariant: equal bytes of the file and equal text give equal tokens. Unknown
// parts of a format are an error when the file is opened; nothing is
// approximated. Text that is not UTF-8 is read as those programs read it.
//
// A file is a stranger's: its size is limited, and no bytes of it lead to more
// than an error. Of the module the package imports internal/regular and units.
package tokenizer
