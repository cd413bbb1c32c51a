// Package chat makes tokens of conversations, by the chat template that a tokenizer
// comes with.
//
// In come a folder as transformers writes it (tokenizer.json, tokenizer_config.json,
// chat_template.jinja) and records: objects of JSON with messages, with a prompt and
// its completion, with an instruction and its output, or with two answers of which one
// is preferred. Out come tokens, and for each whether the model is to predict it.
//
// The invariant: tokens are those of transformers' apply_chat_template, and so is which
// of them are the assistant's where the template has {% generation %}. Without that they
// are what a message of the assistant adds to the text of the messages before it; where
// the text of the first messages is not how the text of all begins, there is an error.
// Equal records give equal tokens, on any day.
//
// Templates and records are a stranger's: their sizes are limited, and no bytes of them
// lead to more than an error. Of the module the package imports internal/regular,
// runtime/jinja and runtime/tokenizer.
package chat
