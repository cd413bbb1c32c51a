// Package storage reads and writes files by their place: a path of this machine, or
// an object of a store that speaks S3, s3://bucket/key.
//
// In comes a place; out comes a file that can be read from the start and at any
// offset, the list of objects that a pattern matches, or a file that is being written.
// Credentials and the address of the store are those of the environment: AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL.
//
// The invariant: what is read is what was opened, or an error, and what is written is there
// whole or not at all. A request that fails for a reason that may pass is made again, later each
// time and a bounded number of times; an object that has changed is not read on. A missing object
// is fs.ErrNotExist, as a missing file is. An object is sent in parts while it is written, so that
// no more than four of them are in memory; the store checks the hash of each.
//
// Of the module the package imports internal/regular and runtime/checkpoint/atomicfile.
package storage
