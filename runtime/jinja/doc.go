// Package jinja renders chat templates: text that a stranger wrote in the language
// of Jinja2 and that turns a list of messages into the text a model was trained on.
//
// In come the source of a template and the values of its variables. Out come the
// rendered text and the ranges of it that {% generation %} encloses.
//
// The invariant: the text is the one that Jinja2 renders in the configuration of transformers
// (trim_blocks, lstrip_blocks, loop controls, an immutable sandbox), byte for byte, or
// there is an error. Nothing is approximated: an unknown filter, test, method or
// statement is an error, and so is an operation that Python would
// reject. A template can neither change its variables nor read anything else, and
// its source, its depth, its steps and its memory are limited.
//
// Rendering does not change a Template, so many renderings may run at once. The package
// imports nothing of the module.
package jinja
