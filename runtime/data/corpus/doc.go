// Package corpus reads documents from files.
//
// In comes a file: text, JSON lines, or parquet; streams may be compressed with gzip
// or zstd. Out come its documents in order, one at a time: their text, or tokens if a
// column has lists of numbers.
//
// The invariant: a file gives the same documents every time, memory is bounded by
// the largest document and not by the file, and broken input is an error that
// names the position. Of the module the package imports internal/units and
// runtime/storage.
package corpus
