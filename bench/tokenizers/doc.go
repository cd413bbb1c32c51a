// Command tokenizers compares the tokens of package runtime/tokenizer with those
// of the libraries that define the formats.
//
// In comes a folder that make.py has filled with the libraries tokenizers,
// tiktoken and sentencepiece: tokenizers of every kind, documents (code, several
// scripts, emoji, marks, long white space, bytes that are no UTF-8), and the
// tokens of each. Out come a line for each tokenizer, the first differences, and
// exit code 1 if there is one. `make tokenizer-check` does all of it.
//
// Of the module the package imports runtime/tokenizer.
package main
