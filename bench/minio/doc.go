// Command minio tries data in an object store with MinIO's server.
//
// In comes the path of the server's program. It is started on a free port with an empty
// folder, and given files. Out come a line for each thing that was tried: that sources
// read from the store what they read from the same files on disk, that text is prepared
// from it to the same bytes, that a key which is none gets no permission, and that a store
// which is gone in the midst of a run is an error that says so. Exit code 1 if one differs.
// `make minio-check` does all of it.
//
// Of the module the package imports runtime/data, its prepare and runtime/tokenizer.
package main
