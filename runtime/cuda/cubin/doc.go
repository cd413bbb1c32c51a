// Package cubin keeps machine code that a driver made of PTX, so that it is made once.
//
// In comes a key (text of PTX, what it is compiled for and by which driver) and folders. Out come
// the bytes that were kept for it, or none: a cache is never needed.
//
// What is kept is code, and is run as the user: a file counts only if it is the user's own or root's
// and nobody else may write it, nor the folder that it is in. Each file holds its key and a checksum; one that is
// damaged, of another key or of another kind is as one that is not there, and is replaced. A file
// appears whole or not at all.
//
// The invariant: what Get gives for a key is what Put was given for it, by the user or by root.
//
// It imports internal/regular and runtime/checkpoint/atomicfile.
package cubin
