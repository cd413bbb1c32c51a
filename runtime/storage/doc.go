// Package storage reads and writes files by their place: a path of this machine, or
// an object of an S3-compatible store, s3://bucket/key.
//
// In comes a place; out comes a file that can be read from the start and at any
// offset, the list of objects that a pattern matches, or a file to write to.
// Credentials and the address of the store come from the environment: AWS_ACCESS_KEY_ID,
// AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL.
//
// The invariant: a reader gets the file that was opened, or an error, and a written file
// appears complete or not at all. A request with a transient failure is retried, with growing
// waits and a bounded number of times; reading ends if an object has changed. A missing object
// is fs.ErrNotExist, like a missing file. An object is sent in parts while it is written, so
// at most four of them are in memory; the store checks the hash of each.
//
// Of the module the package imports internal/regular and runtime/checkpoint/atomicfile.
package storage
