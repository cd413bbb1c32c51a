package targetinfo

// Info describes a target.
type Info struct {
	Name string // "cpu:x86-64-v4"

	// Exact asks for float64 everywhere (the reference's second mode).
	Exact bool

	// Disk says whether a device can offload to disk, and not to memory of the host alone.
	Disk bool

	// Block is how many rows or columns of a product's result a block computes, if blocks read operands from
	// common caches and cast what they read themselves; 0 if a task keeps what it has read.
	Block int64

	// Chunk limits loss in chunks (passes/chunk).
	Chunk Chunk

	// Rows says which rows of values between kernels are padded (passes/memory/pitch).
	Rows Rows
}

// Chunk are the limits within which a large product, and everything that is made of it, is computed
// for a range of rows at a time.
type Chunk struct {
	Bytes int64 // a result of fewer bytes stays in full
	Rows  int   // the fewest rows of a chunk
	Most  int   // the most chunks; below 2, nothing is split
}

// Chunks are the usual limits, with this many rows at least: a chunked product packs the weight once more for
// each chunk, or reads it from memory (docs/kernels.md has the cost).
func Chunks(rows int) Chunk { return Chunk{Bytes: 8 << 20, Rows: rows, Most: 8} }

// Rows are the multiples of bytes that rows of matrices in memory are padded to, so that kernels read and
// write them in large pieces.
type Rows struct {
	Least int // rows of a multiple of it stay as they are; 0: all do
	Best  int // what they are padded to, where that is not much of a row; a multiple of Least
}
