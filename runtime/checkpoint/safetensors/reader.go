package safetensors

import (
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"

	"ptc/internal/order"
	"ptc/runtime/storage"
)

// Reader gives the tensors of a file. It may be used concurrently.
type Reader struct {
	src      io.ReaderAt
	data     int64 // where the data starts
	tensors  []Tensor
	metadata map[string]string
}

// NewReader reads and checks the header of the size bytes of src. What is wrong
// with them is an *Error.
func NewReader(src io.ReaderAt, size int64) (*Reader, error) {
	var length [8]byte
	if size < int64(len(length)) {
		return nil, errorf("the file has %d bytes, but the length of the header alone takes 8", size)
	}
	if err := readFull(src, length[:], 0); err != nil {
		return nil, &Error{Msg: "cannot read the length of the header", Err: err}
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > maxHeader {
		return nil, errorf("the header claims %d bytes, but the format allows %d", n, maxHeader)
	}
	if int64(n) > size-8 {
		return nil, errorf("the header claims %d bytes, but the file has %d after its length", n, size-8)
	}
	text := make([]byte, n)
	if err := readFull(src, text, 8); err != nil {
		return nil, &Error{Msg: "cannot read the header", Err: err}
	}
	h, err := parseHeader(text)
	if err != nil {
		return nil, err
	}
	if err := h.check(size - 8 - int64(n)); err != nil {
		return nil, err
	}
	slices.SortFunc(h.tensors, func(a, b Tensor) int { return strings.Compare(a.Name, b.Name) })
	return &Reader{src: src, data: 8 + int64(n), tensors: h.tensors, metadata: h.metadata}, nil
}

// readFull takes an EOF at the very end for what it is.
func readFull(src io.ReaderAt, p []byte, off int64) error {
	n, err := src.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// check holds the tensors against the size of the data: each has the bytes of
// its shape, and together they cover the data once.
func (h *header) check(size int64) error {
	for i := range h.tensors {
		t := &h.tensors[i]
		n, ok := byteSize(t.DType, t.Shape)
		if !ok {
			return tensorErrorf(t.Name, "shape %v overflows", t.Shape)
		}
		if h.ends[i]-t.Offset != n {
			return tensorErrorf(t.Name, "%s%v takes %d bytes, but its offsets are %d and %d",
				t.DType.Safetensors(), t.Shape, n, t.Offset, h.ends[i])
		}
	}
	end := int64(0)
	for _, i := range order.By(len(h.tensors), func(a, b int) int {
		return cmp.Or(cmp.Compare(h.tensors[a].Offset, h.tensors[b].Offset), cmp.Compare(h.ends[a], h.ends[b]))
	}) {
		switch t := &h.tensors[i]; {
		case t.Offset < end:
			return tensorErrorf(t.Name, "starts at %d, inside another tensor that ends at %d", t.Offset, end)
		case t.Offset > end:
			return tensorErrorf(t.Name, "starts at %d, but the data before it ends at %d", t.Offset, end)
		}
		end = h.ends[i]
	}
	if end != size {
		return errorf("the tensors end at %d, but the file has %d bytes of data", end, size)
	}
	return nil
}

// Tensors lists what the file holds, in order of name. It is not to be changed.
func (r *Reader) Tensors() []Tensor { return r.tensors }

// Metadata is the free text of the header, nil if there is none. It is not to
// be changed.
func (r *Reader) Metadata() map[string]string { return r.metadata }

// Find gives the tensor of that name, or nil.
func (r *Reader) Find(name string) *Tensor {
	if i := find(r.tensors, name); i >= 0 {
		return &r.tensors[i]
	}
	return nil
}

// find gives the index of a name in tensors sorted by it, or -1.
func find(sorted []Tensor, name string) int {
	i, ok := slices.BinarySearchFunc(sorted, name, func(t Tensor, name string) int {
		return strings.Compare(t.Name, name)
	})
	if !ok {
		return -1
	}
	return i
}

// readWindow is how much is read at once where a slice is many short runs.
const readWindow = 1 << 20

// ReadSlice reads a slice of the tensor, row-major, into dst, which must have
// its size.
func (r *Reader) ReadSlice(name string, s Slice, dst []byte) error {
	t := r.Find(name)
	if t == nil {
		return tensorErrorf(name, "is not in the file")
	}
	s, err := s.check(t, int64(len(dst)))
	if err != nil {
		return err
	}
	at, end := r.data+t.Offset, r.data+t.Offset+t.Bytes()
	var window []byte
	var start int64 // of the window in the file
	err = s.runs(t, func(global, local, n int64) error {
		from, out := at+global, dst[local:local+n]
		if n >= readWindow || n == int64(len(dst)) {
			return readFull(r.src, out, from)
		}
		if from < start || from+n > start+int64(len(window)) {
			if window == nil {
				window = make([]byte, readWindow)
			}
			start, window = from, window[:min(readWindow, end-from)]
			if err := readFull(r.src, window, start); err != nil {
				return err
			}
		}
		copy(out, window[from-start:])
		return nil
	})
	if err != nil {
		return &Error{Tensor: name, Msg: "cannot read", Err: err}
	}
	return nil
}

// File is a Reader on a file of its own.
type File struct {
	*Reader
	f storage.File
}

// Open opens a regular file for reading, or an object, s3://bucket/key.
func Open(path string) (*File, error) {
	f, err := storage.Open(path)
	if err != nil {
		return nil, err
	}
	r, err := NewReader(f, f.Size())
	if err != nil {
		f.Close()
		return nil, err
	}
	return &File{r, f}, nil
}

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }
