// Package jinja renders chat templates: text that a stranger wrote in the language
// of Jinja2 and that turns a list of messages into the text a model was trained on.
//
// In come the source of a template and the values of its variables. Out come the
// rendered text and the ranges of it that {% generation %} encloses.
//
// The invariant: the text is the one that Jinja2 gives as transformers sets it up
// (trim_blocks, lstrip_blocks, loop controls, an immutable sandbox), byte for byte, or
// there is an error. Nothing is approximated: a filter, a test, a method or a
// statement that is not known is an error, and so is an operation that Python would
// refuse. A template can neither change what it is given nor read anything else, and
// its source, its depth, its steps and what it holds in memory are limited.
//
// A Template is not changed by rendering, so that many may render at once. The package
// imports nothing of the module.
package jinja
