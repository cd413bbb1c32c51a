// Package regular opens files for reading that are regular files, and nothing
// else.
//
// In comes a path; out comes the open file, or an error that says at once what
// the path leads to instead. To open a FIFO waits for whoever writes to it, to
// read a device may never end, and a folder has no bytes: a path that a user got
// wrong, or that was put in the place of a file, must neither hang a run nor
// fill its memory. A symbolic link to a regular file is as good as the file.
//
// The package imports nothing of the module.
package regular
