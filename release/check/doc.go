// Package check tries what is in dist: installs, starts and removes it.
//
// In: the folder of the flag -dist. Out: failures of tests; there is nothing else in the package.
// Invariant: what is tried is the artifact itself, as who gets it has it, below a folder that is
// removed afterwards; the system is not changed.
// The make targets package-check, image, vsix and wheel make what these tests take, and run one each.
// Imports nothing else of ours.
package check
