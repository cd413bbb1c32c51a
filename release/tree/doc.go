// Package tree is files as artifacts take them: paths, modes and bytes, and no more.
//
// In: files of a folder, or made. Out: tar archives, folders, checksums.
// Invariant: a tree gives the same bytes whatever order its files came in: entries are sorted, have
// one time, and belong to root. No path leads out of the tree, and none is there twice.
// Imports nothing else of ours.
package tree
