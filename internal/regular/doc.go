// Package regular opens regular files for reading, and nothing else.
//
// In comes a path; out comes the open file, or an immediate error that says what
// the path leads to instead. Opening a FIFO waits for a writer, reading a device may
// never end, and a folder has no bytes: a mistyped path, or one that replaced a file,
// must neither hang a run nor fill its memory. A symbolic link to a regular file
// counts as the file.
//
// The package imports nothing of the module.
package regular
