package safetensors

import (
	"fmt"
	"math/bits"

	"ptc/internal/dtype"
)

// Tensor describes one tensor of a file.
type Tensor struct {
	Name   string
	DType  dtype.DType
	Shape  []int64 // none for a scalar
	Offset int64   // bytes from the start of the data; the writer sets it
}

// Bytes is the size of the tensor's elements.
func (t *Tensor) Bytes() int64 {
	n, _ := byteSize(t.DType, t.Shape) // was checked when the tensor was made
	return n
}

// byteSize multiplies the shape out, and fails beyond int64.
func byteSize(d dtype.DType, shape []int64) (int64, bool) {
	n := uint64(d.Size()) // 0 for no dtype
	for _, s := range shape {
		if s == 0 {
			return 0, true
		}
	}
	for _, s := range shape {
		hi, lo := bits.Mul64(n, uint64(s))
		if s < 0 || hi != 0 || lo > maxSize {
			return 0, false
		}
		n = lo
	}
	return int64(n), true
}

const (
	maxSize   = 1 << 62
	maxHeader = 100_000_000 // the limit of the format
	maxRank   = 32
)

// metadataKey is the header's key for free text, which no tensor can have.
const metadataKey = "__metadata__"

// Error says what is wrong with a file, or with what was to be written.
type Error struct {
	Tensor string // its name, if one is to blame
	Msg    string
	Err    error // cause, may be nil
}

func (e *Error) Error() string {
	s := "safetensors: "
	if e.Tensor != "" {
		s += fmt.Sprintf("tensor %q: ", e.Tensor)
	}
	s += e.Msg
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

func errorf(format string, args ...any) *Error { return &Error{Msg: fmt.Sprintf(format, args...)} }

func tensorErrorf(name, format string, args ...any) *Error {
	return &Error{Tensor: name, Msg: fmt.Sprintf(format, args...)}
}
