// Package protocol has the messages of the Language Server Protocol that ptc takes and
// sends, as types, and how they are framed.
//
// In: bytes from an editor. Out: messages, or what is wrong with their frame; and the
// same the other way about.
// Names, fields and numbers are those of the specification, version 3.17 (Microsoft,
// "Language Server Protocol Specification", 2022); what ptc does not use is left out,
// and a message may have it.
//
// Invariant: no frame makes the reader take more memory than [MaxMessage], or panic.
// Imports editor/text.
package protocol
