// Package certificate is the form of what a search over layouts proves: a tree of choices, whose every leaf has a reason why
// nothing below it is better than the winner.
//
// In and out: JSON. A certificate has the hashes of what the search was given, the dimensions of its space, tables of what a
// block takes, and the leaves in the order of the tree. A path names a branch of each dimension down to the leaf.
//
// Invariant: Encode depends on the certificate alone, and Decode refuses what is not of this form. Whether it is true is for
// package foresight/certify.
//
// Imports nothing of ours.
package certificate
