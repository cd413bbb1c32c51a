// Package fakestore is an object store in the process, for tests of what reads one.
//
// In come the objects of a bucket, and requests of S3 for a list, for what an object is, and
// for a range of its bytes; out come the answers of a store, or the failures that a test asks for.
//
// The invariant: an answer has what a store's would have where readers look: ETag and
// If-Match, ranges, codes of errors. Signatures are not checked. The package imports
// nothing of the module.
package fakestore
