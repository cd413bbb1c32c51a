// Package fakestore is an object store in the process, for tests of what reads and writes one.
//
// In come the objects of a bucket, and requests of S3: for a list, for what an object is, for a
// range of its bytes, to write one, whole or in parts, and to remove one. Out come the answers of a
// store, or the failures that a test asks for: a refusal, an answer that is cut or lost, no room.
//
// The invariant: an answer has what a store's would have where readers and writers look: ETag,
// If-Match and If-None-Match, ranges, hashes of what is sent, codes of errors. An object that is
// uploaded in parts is not there before its upload is complete. Signatures are not checked. The
// package imports nothing of the module.
package fakestore
