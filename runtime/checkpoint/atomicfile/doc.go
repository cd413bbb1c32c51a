// Package atomicfile writes files that are either whole or not there.
//
// In come a path and bytes; out comes the file, which appears under its name
// only by Commit, when its bytes are on disk. The invariant: until Commit
// returns without error, what was under the name before is untouched, and after
// Commit or Abort no temporary file is left. A name is never taken from a folder,
// a link, a device, a pipe or a socket. MkdirAll makes folders that last.
//
// Besides internal/regular it imports nothing of the module.
package atomicfile
