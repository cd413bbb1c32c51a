// Command minio tries data and checkpoints in an object store with MinIO's server.
//
// In comes the path of the server's program. It is started on a free port with an empty
// folder, and given files. Out come a line for each thing that was tried: that sources
// read from the store what they read from the same files on disk, that text is prepared
// from it to the same bytes, that a key which is none gets no permission, and that a store
// which is gone in the midst of a run is an error that says so; that checkpoints are kept and
// read back, that a process which is killed as it saves leaves the one before or the new one,
// that of two runs the newer saves, and that a key which is revoked and a store which is gone
// lose no checkpoint. Exit code 1 if one differs. `make minio-check` does all of it.
//
// Of the module the package imports runtime/data, its prepare, runtime/tokenizer,
// runtime/checkpoint, its safetensors, and internal/dtype.
package main
