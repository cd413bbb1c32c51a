package data

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"ptc/runtime/data/generator"
)

// maxStreamBatch bounds the bytes of what a program sends at once.
const maxStreamBatch = 1 << 30

// fewRows are some examples of a stream, of each field.
type fewRows struct {
	n   int
	i32 [][]int32
	f32 [][]float32
}

func (c *fewRows) bytes() int64 {
	size := int64(0)
	for i := range c.i32 {
		size += 4 * int64(len(c.i32[i])+len(c.f32[i]))
	}
	return size
}

// wantedRows are what is wanted of a stream.
type wantedRows struct {
	fields []Field
	within []numberRange // of the fields
	scale  float64
	limit  int64 // bytes of a batch
}

// rowReader reads what a program sends, batch by batch.
type rowReader struct {
	*wantedRows
	s     *generator.Stream
	order []string
	arrow *generator.Arrow
	n     int64 // batches that were read
}

// newRowReader finds out in which form a program sends its examples.
func newRowReader(w *wantedRows, s *generator.Stream) (*rowReader, error) {
	r := &rowReader{wantedRows: w, s: s, order: s.Answer.Fields}
	if len(r.order) == 0 {
		for _, f := range w.fields {
			r.order = append(r.order, f.Name)
		}
	}
	for _, f := range w.fields {
		if n := countOf(r.order, f.Name); n != 1 {
			return nil, fmt.Errorf("its answer has the field %q %d times instead of once", f.Name, n)
		}
	}
	return r, nil
}

func countOf(list []string, s string) (n int) {
	for _, x := range list {
		if x == s {
			n++
		}
	}
	return n
}

// next reads a batch; io.EOF where there is none behind the last.
func (r *rowReader) next() (*fewRows, error) {
	if r.arrow == nil && r.s.Closing() {
		return nil, r.s.End()
	}
	head, err := r.s.Peek(len(generator.ArrowStart))
	switch {
	case r.arrow != nil:
	case len(head) == 0 && errors.Is(err, io.EOF):
		return nil, r.s.End()
	case string(head) == generator.ArrowStart:
		if r.arrow, err = generator.NewArrow(r.s, r.limit); err != nil {
			return nil, r.s.Torn(err)
		}
	case err != nil:
		return nil, r.s.Torn(err)
	}
	out := &fewRows{n: -1, i32: make([][]int32, len(r.fields)), f32: make([][]float32, len(r.fields))}
	if r.arrow != nil {
		err = r.columns(out)
	} else {
		err = r.arrays(out)
	}
	if errors.Is(err, io.EOF) && out.n < 0 {
		return nil, r.s.End()
	}
	if err != nil {
		return nil, fmt.Errorf("batch %d: %w", r.n+1, r.s.Torn(err))
	}
	r.n++
	return out, nil
}

// field is the number of a field that is wanted, -1 where it is not.
func (r *rowReader) field(name string) int {
	return slices.IndexFunc(r.fields, func(f Field) bool { return f.Name == name })
}

// arrays reads a batch of arrays of NumPy's format, one for each field.
func (r *rowReader) arrays(out *fewRows) error {
	left := r.limit
	for _, name := range r.order {
		a, err := r.header()
		if errors.Is(err, io.EOF) && out.n >= 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return named(name, err)
		}
		kind, _ := findElement(a.dtype)
		n := kind.bytes
		for _, d := range a.shape {
			n *= int(d)
		}
		if left -= int64(n); left < 0 {
			return fmt.Errorf("it has more than %d bytes", r.limit)
		}
		k := r.field(name)
		if k >= 0 {
			err = r.fits(k, kind, a.shape, false)
		}
		if err == nil {
			err = out.rows(a.shape)
		}
		if err == nil && a.column {
			err = errors.New("its array is in Fortran order; convert it with numpy.ascontiguousarray")
		}
		if err == nil {
			err = r.numbers(out, k, kind, io.LimitReader(r.s, int64(n)), n, a.big)
		}
		if err != nil {
			return named(name, err)
		}
	}
	return nil
}

func named(field string, err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	return fmt.Errorf("field %s: %w", field, err)
}

// header reads that of an array.
func (r *rowReader) header() (array, error) {
	start, err := r.s.Peek(10)
	if len(start) == 0 && errors.Is(err, io.EOF) {
		return array{}, io.EOF
	}
	if !strings.HasPrefix(string(start), npyMagic[:min(len(start), len(npyMagic))]) {
		return array{}, fmt.Errorf("%q does not begin an array in NumPy's format", start)
	}
	if err != nil {
		return array{}, torn(err)
	}
	size := 10 + int(binary.LittleEndian.Uint16(start[8:]))
	if start[6] != 1 {
		if start, err = r.s.Peek(12); err != nil {
			return array{}, torn(err)
		}
		if n := binary.LittleEndian.Uint32(start[8:]); n < maxNPYHeader {
			size = 12 + int(n)
		} else {
			size = maxNPYHeader + 1
		}
	}
	if size > maxNPYHeader {
		return array{}, fmt.Errorf("the header of an array has more than %d bytes", maxNPYHeader)
	}
	head, err := r.s.Peek(size)
	if err != nil {
		return array{}, torn(err)
	}
	a, err := readNPY(head, math.MaxInt64)
	if err != nil {
		return array{}, err
	}
	size64 := int64(npyWidth(a.dtype))
	for _, d := range a.shape {
		if size64 *= d; size64 > r.limit {
			return array{}, fmt.Errorf("its array of shape %v has more than %d bytes", a.shape, r.limit)
		}
	}
	_, err = r.s.Discard(size)
	return a, err
}

func torn(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// columns reads a record batch of Arrow.
func (r *rowReader) columns(out *fewRows) error {
	list, err := r.arrow.Next()
	if err != nil {
		return err
	}
	for k, f := range r.fields {
		i := slices.IndexFunc(list, func(c generator.Column) bool { return c.Name == f.Name })
		if i < 0 {
			return fmt.Errorf("it has no column %q", f.Name)
		}
		c := &list[i]
		kind, _ := findElement(c.DType)
		err := r.fits(k, kind, c.Shape, true)
		if err == nil {
			err = out.rows(c.Shape)
		}
		if err == nil {
			err = r.numbers(out, k, kind, bytes.NewReader(c.Raw), len(c.Raw), false)
		}
		if err != nil {
			return named(f.Name, err)
		}
	}
	return nil
}

// rows notes how many rows the batch has.
func (c *fewRows) rows(shape []int64) error {
	if len(shape) == 0 || shape[0] == 0 {
		return fmt.Errorf("its array of shape %v has no rows", shape)
	}
	n := int(shape[0])
	if c.n >= 0 && c.n != n {
		return fmt.Errorf("it has %d rows, but the field before has %d", n, c.n)
	}
	c.n = n
	return nil
}

// fits holds an array to a field. The rows of a flat one, as Arrow's tensors are, may have several axes.
func (r *rowReader) fits(k int, kind element, shape []int64, flat bool) error {
	f := &r.fields[k]
	want, size := make([]int64, 0, maxRank), int64(1)
	for _, n := range f.Shape[1:] {
		want, size = append(want, int64(n)), size*int64(n)
	}
	if len(shape) == 0 || !slices.Equal(shape[1:], want) && !(flat && len(shape) == 2 && shape[1] == size) {
		return fmt.Errorf("its array has the shape %v, but the step reads rows of %v", shape, want)
	}
	if f.DType == I32 && !kind.whole {
		return fmt.Errorf("its array has %s, but the step reads %s, which needs integers", kind.name, f.DType)
	}
	return nil
}

// numbers reads those of a field, n bytes; of one that is not wanted it reads them over.
func (r *rowReader) numbers(out *fewRows, k int, kind element, from io.Reader, n int, big bool) error {
	buf := pieces.Get().(*[1 << 14]byte)
	defer pieces.Put(buf)
	scale, whole := 1.0, k >= 0 && r.fields[k].DType == I32
	if kind.whole {
		scale = r.scale
	}
	for at := 0; n > 0; {
		b := buf[:min(n, len(buf)/kind.bytes*kind.bytes)]
		if _, err := io.ReadFull(from, b); err != nil {
			return torn(err)
		}
		n -= len(b)
		if k < 0 {
			continue
		}
		for ; len(b) > 0; b = b[kind.bytes:] {
			if big {
				slices.Reverse(b[:kind.bytes])
			}
			v := kind.at(b)
			if !whole {
				out.f32[k] = append(out.f32[k], float32(v*scale))
				continue
			}
			if err := r.within[k].check(v, int64(at)); err != nil {
				return err
			}
			out.i32[k] = append(out.i32[k], int32(v))
			at++
		}
	}
	return nil
}

// check refuses a number that is not in the range.
func (r numberRange) check(v float64, at int64) *Error {
	if v < math.MinInt32 || v > math.MaxInt32 {
		return errorf("element %d is %.0f, which does not fit i32", at, v)
	}
	if r.below > 0 && (v >= float64(r.below) || v < float64(r.least)) {
		return r.wrong(v, at)
	}
	return nil
}
