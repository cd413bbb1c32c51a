// Package vsix makes the extension for Visual Studio Code as one file, without npm: an
// Open Packaging archive (ECMA-376, part 2) with a manifest of the Visual Studio gallery.
//
// In: the folder of the extension, and a version. Out: the archive, with the version in
// its package.json.
// Invariant: all that the extension loads is in it; an extension with dependencies, or
// with a file missing that package.json names, is refused.
// Imports ptc/release/tree.
package vsix
