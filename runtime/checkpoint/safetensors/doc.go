// Package safetensors reads and writes the safetensors file format.
//
// A file is the length of a header (u64, little-endian), the header, which is
// JSON, and the elements of all tensors, row-major and little-endian, without a
// gap between tensors:
//
//	u64 n | { "name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, ... } | data
//
// The reader takes bytes that nobody vouches for. It allocates nothing by what
// a header claims before that is checked against the file's size, and whatever
// it accepts is a set of tensors that cover the data exactly. The writer gives
// the same bytes for the same tensors, header keys sorted by name, every tensor
// aligned to its element; and refuses to finish before each element is written
// once. Both take a tensor in slices, so that the layout that wrote it and the
// one that reads it need not be the same.
//
// It imports internal/dtype and runtime/storage.
package safetensors
