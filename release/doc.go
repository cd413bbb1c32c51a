// Command release makes of the repository what is handed out: archives, Debian packages,
// container images, Python wheels, an extension for Visual Studio Code, and the documents as a site.
//
// In: the repository, the manual pages that `make man` wrote, and a version. Out: files in one
// folder, dist, with their checksums. Each kind of artifact has a package of its own; package build
// makes the binaries, and package tree is the form in which all of them take files.
// Invariant: the same sources, version and Go give the same bytes, on any machine: what has a
// time has that of SOURCE_DATE_EPOCH, or of the commit.
//
// It is a module of its own, so that what it depends on is no dependency of ptc.
// Imports ptc/release/...
package main
