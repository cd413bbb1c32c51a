// Package wheel makes Python wheels.
//
// In: the text of pyproject.toml, the Python files, a binary and its architecture. Out: a wheel
// (PyPA specification "Binary distribution format") and its name.
// Invariant: the tag promises no older system than the binary can run on: it is computed from the
// versions of symbols that the binary asks glibc for. RECORD has every file.
// Imports ptc/release/tree.
package wheel
