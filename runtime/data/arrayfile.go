package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"ptc/internal/dtype"
	"ptc/runtime/checkpoint/safetensors"
	"ptc/runtime/storage"
)

// element is how a number is kept in a file of an array.
type element struct {
	name  string
	bytes int
	whole bool
	at    func(b []byte) float64
}

// elements are the types of arrays; all little-endian.
var elements = []element{
	{"bool", 1, true, func(b []byte) float64 { return float64(b[0]) }},
	{"u8", 1, true, func(b []byte) float64 { return float64(b[0]) }},
	{"i8", 1, true, func(b []byte) float64 { return float64(int8(b[0])) }},
	{"u16", 2, true, func(b []byte) float64 { return float64(binary.LittleEndian.Uint16(b)) }},
	{"i16", 2, true, func(b []byte) float64 { return float64(int16(binary.LittleEndian.Uint16(b))) }},
	{"u32", 4, true, func(b []byte) float64 { return float64(binary.LittleEndian.Uint32(b)) }},
	{"i32", 4, true, func(b []byte) float64 { return float64(int32(binary.LittleEndian.Uint32(b))) }},
	{"u64", 8, true, func(b []byte) float64 { return float64(binary.LittleEndian.Uint64(b)) }},
	{"i64", 8, true, func(b []byte) float64 { return float64(int64(binary.LittleEndian.Uint64(b))) }},
	{"f16", 2, false, func(b []byte) float64 { return float64(dtype.FromF16(binary.LittleEndian.Uint16(b))) }},
	{"bf16", 2, false, func(b []byte) float64 { return float64(dtype.FromBF16(binary.LittleEndian.Uint16(b))) }},
	{"f32", 4, false, func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }},
	{"f64", 8, false, func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }},
}

func findElement(name string) (element, bool) {
	for _, e := range elements {
		if e.name == name {
			return e, true
		}
	}
	return element{}, false
}

// arrayFile is an array that stays in its file.
type arrayFile struct {
	file   io.ReaderAt
	name   string // for errors
	kind   element
	shape  []int64
	row    int // elements of a row
	offset int64
	scale  float64
	within numberRange // of a field of whole numbers
}

// numberRange is which numbers a field may have, so that a model finds each: [least, below). Without
// a below, any.
type numberRange struct {
	name         string
	least, below int
}

// wrong is the error of a number that is none of them, the element of a number.
func (r numberRange) wrong(v float64, at int64) *Error {
	e := errorf("element %d is %.0f, but the model needs numbers from 0 to %d for the field `%s`", at, v, r.below-1, r.name)
	switch {
	case v >= float64(r.below):
		e.Hint = "a larger axis of the model, such as the vocabulary, has more"
	case r.least == 0:
		e.Hint = "`masked = true` of `nn.cross_entropy` leaves targets below 0 out"
	}
	return e
}

// npyArray is the array of a .npy file.
func npyArray(f textFile) (*arrayFile, error) {
	file, size, err := openSized(f)
	if err != nil {
		return nil, err
	}
	head := make([]byte, min(size, maxNPYHeader))
	if _, err := file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return nil, &Error{Path: f.name, Msg: "cannot read", Err: cause(err)}
	}
	a, err := readNPY(head, size)
	if err != nil {
		_ = file.Close()
		return nil, &Error{Path: f.name, Msg: err.Error(), Hint: "arrays come from .npy or safetensors files"}
	}
	if a.foreign() {
		ordered, err := a.spool(file)
		_ = file.Close()
		if err != nil {
			return nil, &Error{Path: f.name, Msg: "cannot be read", Err: cause(err)}
		}
		return newArray(f.name, ordered, a.dtype, a.shape, 0)
	}
	return newArray(f.name, file, a.dtype, a.shape, a.offset)
}

// tensorFile is a tensor of a file in the format of safetensors
// (https://huggingface.co/docs/safetensors): 8 bytes for the length of the header,
// the header, and the tensors.
func tensorFile(f textFile, tensor string) (*arrayFile, error) {
	file, size, err := openSized(f)
	if err != nil {
		return nil, err
	}
	fail := func(e *Error) (*arrayFile, error) {
		_ = file.Close()
		return nil, e
	}
	r, err := safetensors.NewReader(file, size)
	if err != nil {
		return fail(&Error{Path: f.name, Msg: "cannot be used", Err: err})
	}
	t := r.Find(tensor)
	if t == nil {
		e := errorf("there is no tensor %q", tensor)
		if e.Path = f.name; tensor == "" {
			e.Msg = "the tensor is not named"
		}
		e.Hint = `name it behind the file, as in "` + f.rel + `:images"`
		return fail(e)
	}
	var head [8]byte
	if _, err := file.ReadAt(head[:], 0); err != nil {
		return fail(&Error{Path: f.name, Msg: "cannot read", Err: cause(err)})
	}
	return newArray(f.name, file, t.DType.String(), t.Shape, 8+int64(binary.LittleEndian.Uint64(head[:]))+t.Offset)
}

// arraySource is a file of the disk or of a store.
type arraySource interface {
	io.ReaderAt
	io.Closer
}

func openSized(f textFile) (storage.File, int64, error) {
	file, err := storage.Open(f.path)
	if err != nil {
		return nil, 0, &Error{Path: f.name, Msg: "cannot read", Err: cause(err)}
	}
	return file, file.Size(), nil
}

func newArray(name string, file arraySource, kind string, shape []int64, offset int64) (*arrayFile, error) {
	a := &arrayFile{file: file, name: name, shape: shape, row: 1, offset: offset, scale: 1}
	var ok bool
	var err *Error
	switch a.kind, ok = findElement(kind); {
	case !ok:
		err = errorf("elements of type %s are not supported", kind)
	case len(shape) == 0 || shape[0] == 0:
		err = errorf("the array of shape %v has no rows", shape)
	case len(shape) > maxRank:
		err = errorf("the array has %d axes instead of %d", len(shape), maxRank)
	}
	for _, n := range shape[min(1, len(shape)):] {
		if n < 1 || n > math.MaxInt32 || int64(a.row)*n > math.MaxInt32 {
			err = errorf("the rows of an array of shape %v have no elements, or too many", shape)
			break
		}
		a.row *= int(n)
	}
	if err != nil {
		_ = file.Close()
		err.Path = name
		return nil, err
	}
	return a, nil
}

// field is what the array gives where nobody asks for a type.
func (a *arrayFile) field(name string, batch int, scale float64) Field {
	f := Field{Name: name, DType: F32, Shape: []int{batch}}
	if a.kind.whole && scale == 1 {
		f.DType = I32
	}
	for _, n := range a.shape[1:] {
		f.Shape = append(f.Shape, int(n))
	}
	return f
}

// fits checks the array for a field, whose axes but the first have the array's
// sizes, and takes the scale if it is for that.
func (a *arrayFile) fits(f Field, batch int, scale float64) error {
	if have := a.field(f.Name, batch, 1); fmt.Sprint(have.Shape) != fmt.Sprint(f.Shape) {
		return fmt.Errorf("the step reads %s, but the array has the shape %v, with its rows first", f, a.shape)
	}
	if f.DType == I32 && !a.kind.whole {
		return fmt.Errorf("the step reads %s, but the array has %s, which are not integers", f, a.kind.name)
	}
	if f.DType == F32 && a.kind.whole {
		a.scale = scale
	}
	return nil
}

// readAt reads bytes from a place behind the start of the array.
func (a *arrayFile) readAt(raw []byte, at int64) error {
	return readFull(a.file, a.name, raw, a.offset+at)
}

// elements writes n elements from the one of number first on to the place at of
// i32 or f32, whichever there is.
func (a *arrayFile) elements(first int64, at, n int, i32 []int32, f32 []float32) error {
	buf := pieces.Get().(*[1 << 14]byte)
	defer pieces.Put(buf)
	size := a.kind.bytes
	for done := 0; done < n; {
		now := min(n-done, len(buf)/size)
		if err := a.readAt(buf[:now*size], (first+int64(done))*int64(size)); err != nil {
			return err
		}
		for i := range now {
			v := a.kind.at(buf[i*size:])
			if f32 != nil {
				f32[at+done+i] = float32(v * a.scale)
				continue
			}
			if e := a.within.check(v, first+int64(done+i)); e != nil {
				e.Path = a.name
				return e
			}
			i32[at+done+i] = int32(v)
		}
		done += now
	}
	return nil
}
