// Command chat compares conversations as package runtime/chat makes tokens of them
// with what transformers makes of them.
//
// In come a folder that make.py has filled (a tokenizer, conversations, and the text,
// tokens and mask of each by each template) and the folder of the templates. Out come a
// line for each template, the first differences, and exit code 1 if there is one.
// expressions.py writes what Jinja2 makes of small templates, for the test of
// runtime/jinja. `make chat-check` does all of it.
//
// Of the module the package imports runtime/chat and runtime/tokenizer.
package main
