// Package chat tokenizes conversations with the chat template that a tokenizer
// comes with.
//
// In come a folder written by transformers (tokenizer.json, tokenizer_config.json,
// chat_template.jinja) and records: JSON objects with messages, with a prompt and
// its completion, with an instruction and its output, or with two answers of which one
// is preferred. Out come tokens, and for each whether it is a target.
//
// The invariant: tokens are those of transformers' apply_chat_template, and so are the
// assistant's tokens if the template has {% generation %}. Without it they are the text
// that an assistant message adds to the messages before it; if the rendering of the first
// messages is no prefix of the complete rendering, that is an error.
// Equal records give equal tokens, on any day.
//
// Templates and records are a stranger's: their sizes are limited, and no bytes of them
// lead to more than an error. Of the module the package imports internal/regular,
// runtime/jinja and runtime/tokenizer.
package chat
