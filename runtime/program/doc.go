// Package program is the plan as pure data, and its codec.
//
// In: a backend fills a [Plan]. Out: bytes that [Decode] reads back on any
// machine, and that the runtime captures.
// Invariant: the same plan gives the same bytes; Decode accepts nothing that
// does not pass its checksum and [Plan.Validate], so the runtime can trust
// every index, offset and size it reads.
// Imports nothing of ours.
package program
