// Package safetensorstest reads and writes safetensors files as tests compare them.
//
// In: a path, and for a file that is written tensors with their values. Out: the bytes or
// the values of every tensor by name; what goes wrong ends the test.
// Invariant: values are those that the dtype's row has for the bytes, exactly.
// For tests only. Imports internal/dtype, runtime/checkpoint/safetensors.
package safetensorstest
