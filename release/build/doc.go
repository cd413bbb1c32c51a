// Package build makes the binaries of a release, and says what they are of.
//
// In: the repository's folder. Out: its version, commit and time; binaries with what Go recorded
// in them; the documents, the manual and the licences that go with a binary.
// Invariant: the same sources and the same Go give the same binaries: no path and no time of
// the machine is in them. A library without a licence file is an error, since its binary may not be
// handed out.
// Imports ptc/release/tree.
package build
