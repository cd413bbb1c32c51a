// Package corpus reads documents from files.
//
// In comes a file: text, JSON lines, or parquet, each also compressed with gzip
// or zstd where it is a stream. Out come its documents in order, one at a time:
// their text, or tokens where a column has lists of numbers.
//
// The invariant: a file gives the same documents every time, memory is bounded by
// the largest document and not by the file, and what is broken is an error that
// names the place. Of the module the package imports internal/units and
// runtime/storage.
package corpus
