// Package sbom lists what is in a binary, as a software bill of materials.
//
// In: a binary with what Go recorded in it. Out: CycloneDX 1.5 as JSON.
// Invariant: the list is that of the binary itself (debug/buildinfo), not of go.mod: what is not
// linked is not in it. The same binary gives the same bytes.
// Imports ptc/release/build.
package sbom
