package generator

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Limits of a record batch.
const (
	maxMetadata = 16 << 20
	maxMessages = 1 << 10 // that are no batch, one after the other
)

// ArrowStart is how a stream of Arrow begins.
const ArrowStart = "\xff\xff\xff\xff"

// Column is a column of a batch: numbers of one type, little-endian, in rows of one shape.
type Column struct {
	Name  string
	DType string
	Shape []int64 // the rows first
	Raw   []byte
}

// Arrow reads record batches.
type Arrow struct {
	frames *frames
	r      *ipc.Reader
}

// NewArrow reads the schema. What a batch takes of memory is below limit.
func NewArrow(r io.Reader, limit int64) (*Arrow, error) {
	f := &frames{r: r, limit: limit}
	reader, err := ipc.NewReaderFromMessageReader(f, ipc.WithAllocator(&bounded{Allocator: memory.NewGoAllocator(), limit: limit}))
	if err != nil {
		return nil, f.why(err)
	}
	return &Arrow{f, reader}, nil
}

// Next is the next batch; io.EOF behind the last one.
func (a *Arrow) Next() (columns []Column, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the record batch is damaged: %v", p)
		}
	}()
	a.frames.seen = 0
	batch, err := a.r.Read()
	if err != nil {
		return nil, a.frames.why(err)
	}
	for i, c := range batch.Columns() {
		name := batch.ColumnName(i)
		x, err := columnOf(c)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", name, err)
		}
		x.Name = name
		columns = append(columns, x)
	}
	return columns, nil
}

// arrowTypes are Arrow's types of numbers.
var arrowTypes = map[arrow.Type]struct {
	name  string
	bytes int
}{
	arrow.UINT8: {"u8", 1}, arrow.INT8: {"i8", 1}, arrow.UINT16: {"u16", 2}, arrow.INT16: {"i16", 2},
	arrow.UINT32: {"u32", 4}, arrow.INT32: {"i32", 4}, arrow.UINT64: {"u64", 8}, arrow.INT64: {"i64", 8},
	arrow.FLOAT16: {"f16", 2}, arrow.FLOAT32: {"f32", 4}, arrow.FLOAT64: {"f64", 8},
}

// columnOf are the numbers of an array: of numbers, or of lists of equal length.
func columnOf(c arrow.Array) (Column, error) {
	out := Column{Shape: []int64{int64(c.Len())}}
	from, n := 0, c.Len() // elements of c
	for {
		if c.NullN() > 0 {
			return out, errors.New("it has nulls")
		}
		switch x := c.(type) {
		case array.ExtensionArray:
			c = x.Storage()
			continue
		case *array.FixedSizeList:
			size := int(x.DataType().(*arrow.FixedSizeListType).Len())
			from, n, c = (from+x.Data().Offset())*size, n*size, x.ListValues()
			out.Shape = append(out.Shape, int64(size))
			continue
		case *array.List:
			size, first, err := equalLists(x, from, n)
			if err != nil {
				return out, err
			}
			from, n, c = first, n*size, x.ListValues()
			out.Shape = append(out.Shape, int64(size))
			continue
		case *array.Boolean:
			out.DType, out.Raw = "bool", make([]byte, n)
			for i := range n {
				if x.Value(from + i) {
					out.Raw[i] = 1
				}
			}
			return out, nil
		}
		kind, ok := arrowTypes[c.DataType().ID()]
		if !ok {
			return out, fmt.Errorf("it is of %s, but must be numbers or lists of them", c.DataType())
		}
		at := (from + c.Data().Offset()) * kind.bytes
		if n > 0 {
			out.Raw = c.Data().Buffers()[1].Bytes()[at : at+n*kind.bytes]
		}
		out.DType = kind.name
		return out, nil
	}
}

// equalLists is the length of lists that all have it, and where the first begins.
func equalLists(x *array.List, from, n int) (size, first int, err error) {
	offsets := x.Offsets()[from+x.Data().Offset():]
	if n == 0 {
		return 0, 0, nil
	}
	first, size = int(offsets[0]), int(offsets[1]-offsets[0])
	for i := range n {
		if int(offsets[i+1]-offsets[i]) != size {
			return 0, 0, fmt.Errorf("row 0 has %d numbers, but row %d has %d", size, i, offsets[i+1]-offsets[i])
		}
	}
	return size, first, nil
}

// frames are the messages of a stream. A length allocates no more than what follows it.
type frames struct {
	r     io.Reader
	limit int64
	seen  int   // messages since the last batch
	err   error // of the reader, which the library wraps
}

func (f *frames) Retain()  {}
func (f *frames) Release() {}

func (f *frames) why(err error) error {
	if f.err != nil {
		return f.err
	}
	return err
}

// Message is the next one, io.EOF behind the last.
func (f *frames) Message() (*ipc.Message, error) {
	m, err := f.message()
	if err != nil && f.err == nil {
		f.err = err
	}
	return m, err
}

func (f *frames) message() (m *ipc.Message, err error) {
	if f.seen++; f.seen > maxMessages {
		return nil, fmt.Errorf("more than %d messages that are not record batches", maxMessages)
	}
	var head [8]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return nil, err
	}
	if string(head[:4]) != ArrowStart {
		return nil, errors.New("this is not an Arrow message")
	}
	n := int64(int32(binary.LittleEndian.Uint32(head[4:])))
	switch {
	case n == 0:
		return nil, io.EOF
	case n < 8 || n > maxMetadata:
		return nil, fmt.Errorf("an Arrow message has %d bytes of metadata, but the limit is %d", n, maxMetadata)
	}
	meta, err := grow(f.r, n)
	if err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			m, err = nil, fmt.Errorf("an Arrow message is damaged: %v", p)
		}
	}()
	size := ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(nil)).BodyLen()
	if size < 0 || size > f.limit {
		return nil, fmt.Errorf("a record batch has %d bytes, but the limit is %d", size, f.limit)
	}
	body, err := grow(f.r, size)
	if err != nil {
		return nil, err
	}
	return ipc.NewMessage(memory.NewBufferBytes(meta), memory.NewBufferBytes(body)), nil
}

// grow reads n bytes into memory that grows with what has come.
func grow(r io.Reader, n int64) ([]byte, error) {
	var out []byte
	for int64(len(out)) < n {
		k := min(n-int64(len(out)), max(64<<10, int64(len(out))))
		at := len(out)
		out = append(out, make([]byte, k)...)
		if _, err := io.ReadFull(r, out[at:]); err != nil {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return out, nil
}

// bounded is an allocator with a limit, beyond which it panics: the library makes an error of that.
type bounded struct {
	memory.Allocator
	limit int64
}

func (b *bounded) Allocate(n int) []byte {
	b.check(n)
	return b.Allocator.Allocate(n)
}

func (b *bounded) Reallocate(n int, x []byte) []byte {
	b.check(n)
	return b.Allocator.Reallocate(n, x)
}

func (b *bounded) check(n int) {
	if int64(n) > b.limit {
		panic(fmt.Errorf("a buffer has %d bytes, but the limit is %d", n, b.limit))
	}
}
