// Package deb makes packages for Debian and Ubuntu.
//
// In: the binary, its manual, documents, a version, an architecture. Out: a .deb and its name.
// Invariant: everything a package installs is below /usr and owned by root; nothing runs when it is
// installed or removed, so that removing it leaves nothing.
// Imports ptc/release/tree.
package deb
