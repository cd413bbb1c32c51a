// Package report shows a plan: as one document for programs, and as one page for a
// browser, made from that document.
//
// In: a plan that Validate accepts, or two to compare, the measurements of a run of the first,
// its forecast on a machine, which package foresight/forecast fills in, and what a search over
// its layouts found. Out: a [Document],
// the description of runtime/explain with the data of the pictures; and from [Page] the bytes
// of a self-contained HTML page, with its style, its script and the document in it.
//
// The pictures need: which axes of each tensor are sharded over which mesh axes; the timeline
// of each device of a pipeline, if stages take the same time; and the values of a step in the
// memory of a device: where, from which instruction to which, and from which line of the source.
//
//	bytes                         a value is a rectangle; equal values, one for
//	  │ ┌──────────────────────┐  each instance of a stack, are one group: how
//	  │ │ blocks.0  ┌────────┐ │  many, and how many instructions and bytes
//	  │ └───────────┤blocks.1├─┘  each is after the one before
//	  └─────────────┴────────┴──▶ instructions of a step
//
// Invariant: the same plan gives the same bytes; no two rectangles overlap; the page
// loads nothing from a network, runs only its own script, and shows text of a plan
// as text.
//
// Imports internal/ranges, internal/units, runtime/explain, runtime/profile, runtime/program.
package report
