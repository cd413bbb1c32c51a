package safetensors

import (
	"cmp"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"ptc/internal/order"
	"ptc/runtime/storage"
)

// Writer writes a file, its tensors in any order and in any slices. Slices may
// be written concurrently.
type Writer struct {
	dst     io.WriterAt
	data    int64
	size    int64
	tensors []Tensor

	mu      sync.Mutex
	written [][]Slice // of each tensor
	bytes   []int64
}

// NewWriter lays the tensors out and writes the header. The larger elements
// come first, then the order is that of names, so that every tensor is aligned
// to its element. Offsets that are given are ignored.
func NewWriter(dst io.WriterAt, tensors []Tensor, metadata map[string]string) (*Writer, error) {
	w := &Writer{dst: dst, tensors: slices.Clone(tensors)}
	slices.SortFunc(w.tensors, func(a, b Tensor) int { return strings.Compare(a.Name, b.Name) })
	for i := range w.tensors {
		if err := checkTensor(&w.tensors[i]); err != nil {
			return nil, err
		}
		if i > 0 && w.tensors[i].Name == w.tensors[i-1].Name {
			return nil, tensorErrorf(w.tensors[i].Name, "is in the list twice")
		}
	}
	for k, v := range metadata {
		if !utf8.ValidString(k) || !utf8.ValidString(v) {
			return nil, errorf("the metadata of %q is not UTF-8", k)
		}
	}
	end, err := w.layOut()
	if err != nil {
		return nil, err
	}
	header := formatHeader(w.tensors, metadata)
	if len(header)-8 > maxHeader {
		return nil, errorf("the header takes %d bytes, but the format allows %d", len(header)-8, maxHeader)
	}
	binary.LittleEndian.PutUint64(header, uint64(len(header)-8))
	if _, err := dst.WriteAt(header, 0); err != nil {
		return nil, &Error{Msg: "cannot write the header", Err: err}
	}
	w.data = int64(len(header))
	w.size = w.data + end
	w.written, w.bytes = make([][]Slice, len(tensors)), make([]int64, len(tensors))
	return w, nil
}

func checkTensor(t *Tensor) error {
	switch {
	case t.Name == metadataKey || !utf8.ValidString(t.Name):
		return tensorErrorf(t.Name, "is not a valid name for a tensor")
	case !t.DType.Valid():
		return tensorErrorf(t.Name, "has no element type")
	case len(t.Shape) > maxRank:
		return tensorErrorf(t.Name, "has %d axes, more than %d", len(t.Shape), maxRank)
	case slices.ContainsFunc(t.Shape, func(n int64) bool { return n < 0 }):
		return tensorErrorf(t.Name, "shape %v is negative", t.Shape)
	}
	if _, ok := byteSize(t.DType, t.Shape); !ok {
		return tensorErrorf(t.Name, "shape %v overflows", t.Shape)
	}
	return nil
}

// FileOrder compares the places of two tensors of one file.
func FileOrder(a, b *Tensor) int {
	return cmp.Or(cmp.Compare(b.DType.Bits(), a.DType.Bits()), strings.Compare(a.Name, b.Name))
}

// layOut gives every tensor its offset, and the end of the data.
func (w *Writer) layOut() (end int64, err error) {
	for _, i := range order.By(len(w.tensors), func(a, b int) int { return FileOrder(&w.tensors[a], &w.tensors[b]) }) {
		t := &w.tensors[i]
		t.Offset = end
		if end += t.Bytes(); end > maxSize {
			return 0, tensorErrorf(t.Name, "ends after the largest offset of the format")
		}
	}
	return end, nil
}

// Size is the number of bytes of the finished file.
func (w *Writer) Size() int64 { return w.size }

// WriteSlice writes a slice of the tensor from data, row-major. To write an
// element again is an error, so of replicas only one is to be written.
func (w *Writer) WriteSlice(name string, s Slice, data []byte) error {
	i := find(w.tensors, name)
	if i < 0 {
		return tensorErrorf(name, "is not in the list of this file")
	}
	t := &w.tensors[i]
	s, err := s.check(t, int64(len(data)))
	if err != nil {
		return err
	}
	if err := w.claim(i, s.clone(), int64(len(data))); err != nil {
		return err
	}
	err = s.runs(t, func(global, local, n int64) error {
		_, err := w.dst.WriteAt(data[local:local+n], w.data+t.Offset+global)
		return err
	})
	if err != nil {
		return &Error{Tensor: name, Msg: "cannot write", Err: err}
	}
	return nil
}

// claim notes that a slice of tensor i is written.
func (w *Writer) claim(i int, s Slice, bytes int64) error {
	if bytes == 0 {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.written[i] {
		if s.overlaps(o) {
			return tensorErrorf(w.tensors[i].Name, "slice %v overlaps slice %v, which was written before", s, o)
		}
	}
	w.written[i] = append(w.written[i], s)
	w.bytes[i] += bytes
	return nil
}

// Finish checks that every element was written. Slices do not overlap, so it
// is enough to count.
func (w *Writer) Finish() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range w.tensors {
		if t := &w.tensors[i]; w.bytes[i] != t.Bytes() {
			return tensorErrorf(t.Name, "has %d of its %d bytes", w.bytes[i], t.Bytes())
		}
	}
	return nil
}

// WriteFile writes a file of which write gives the elements. If anything fails,
// what was at path before is untouched. To an object store, s3://bucket/key, tensors
// are written whole and in the order of FileOrder.
func WriteFile(path string, tensors []Tensor, metadata map[string]string, write func(*Writer) error) error {
	size := int64(0)
	for i := range tensors {
		size += tensors[i].Bytes()
	}
	f, err := storage.Create(path, size)
	if err != nil {
		return err
	}
	defer f.Abort()
	w, err := NewWriter(f, tensors, metadata)
	if err != nil {
		return err
	}
	if err := write(w); err != nil {
		return err
	}
	if err := w.Finish(); err != nil {
		return err
	}
	return f.Commit()
}
