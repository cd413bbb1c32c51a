// Package site makes static HTML of the documents.
//
// In: the repository's README.md and docs/*.md, which tests of package docs hold to the code, and
// the folders that they link to. Out: one page each.
// Invariant: a page needs nothing but its own text: no script, no font, no request to another host.
// Every link within the site leads to a page and a heading that there is, or making the site fails.
// Imports ptc/release/tree.
package site
