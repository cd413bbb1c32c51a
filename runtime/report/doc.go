// Package report shows a plan: as one document for programs, and as one page for a
// browser that is made of it.
//
// In: a plan that Validate accepts, or two to be compared, and what a run of the first was
// measured to take. Out: a [Document], which is
// the description of runtime/explain with what pictures need besides; and from [Page]
// the bytes of a self-contained HTML page, with its style, its script and the document
// in it.
//
// What pictures need: which axes of each tensor are over which axes of the mesh; what
// each device of a pipeline does when, if stages take the same time; and the values
// that a step has in the memory of a device: where, from which instruction to which,
// and from which line of the source.
//
//	bytes                         a value is a rectangle; values that are alike,
//	  │ ┌──────────────────────┐  one for each instance of a stack, are one group:
//	  │ │ blocks.0  ┌────────┐ │  so many, each so many instructions and so many
//	  │ └───────────┤blocks.1├─┘  bytes further on than the one before
//	  └─────────────┴────────┴──▶ instructions of a step
//
// Invariant: the same plan gives the same bytes; no two rectangles overlap; the page
// asks nothing of any network, runs no script but its own, and shows text of a plan
// as text.
//
// Imports internal/ranges, internal/units, runtime/explain, runtime/profile, runtime/program.
package report
