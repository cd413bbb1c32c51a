// Package folderlock reserves a folder for one process.
//
// In comes a folder, which is made if it is missing; out comes a lock, or an error that names
// the process that has it. The lock is that of the system on an open file, .lock, so that it ends with
// the process, however that ends: the file may stay, and means nothing then.
//
// The invariant: of all processes that take the lock of a folder by its path, one at a time has it,
// where the file system knows locks. Of the module the package imports internal/regular and
// runtime/checkpoint/atomicfile.
package folderlock
