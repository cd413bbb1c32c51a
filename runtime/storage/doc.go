// Package storage opens and lists files by their place: a path of this machine, or
// an object of a store that speaks S3, s3://bucket/key.
//
// In comes a place; out comes a file that can be read from the start and at any
// offset, or the list of objects that a pattern matches. Credentials and the address
// of the store are those of the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
// AWS_SESSION_TOKEN, AWS_REGION, AWS_ENDPOINT_URL.
//
// The invariant: what is read is what was opened, or an error. A request that fails
// for a reason that may pass is made again, later each time; an object that has changed is
// not read on. A missing object is fs.ErrNotExist, as a missing file is.
//
// Of the module the package imports internal/regular.
package storage
