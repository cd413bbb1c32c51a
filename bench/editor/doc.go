// Package editor holds sessions of real editors with `ptc lsp`, and has nothing in Go:
// run.sh starts Neovim without a screen on an example, session.lua is what it does there.
//
// In: bin/ptc, and Neovim 0.7 or later. Out: a line for each check, and exit code 1 where
// one fails. Where TREE_SITTER names the binary of tree-sitter, the parser of
// editors/tree-sitter-ptl is generated too, and takes every example and the standard
// library without an error.
// `make editor-check` runs it. Imports nothing.
package editor
