// Package server is a session of the Language Server Protocol: what an editor says to
// `ptc lsp`, and what it is told.
//
// In: messages on a stream. Out: answers, diagnostics, and whether the session ended as
// the protocol has it.
//
//	server.go     a session from its start to its end, and the order of what it does
//	requests.go   one row for each request
//	documents.go  open documents, programs of which they are part, files of others
//	publish.go    what is said unasked: diagnostics, and that answers are stale
//
// Notifications are taken in their order. A request sees the documents as they were when
// it came, and runs concurrently with others; `$/cancelRequest` and edits end what nobody waits for.
//
// Invariant: nothing that an editor says makes a session panic; a panic of ours in a
// request is the error of that request.
// Imports compiler, editor/analysis, editor/protocol, editor/query, editor/text,
// lang/source, runtime/checkpoint/atomicfile, stdlib.
package server
