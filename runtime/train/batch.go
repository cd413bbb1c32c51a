package train

import (
	"unsafe"

	"ptc/internal/dtype"
	"ptc/runtime/data"
)

// batch is one value of every field: whole, or the part of it that one device
// reads.
type batch struct {
	views []data.View
	bytes [][]byte // the same memory
	part  bool
	share []func() error // has all processes get a field; none: each has its own
}

// newBatch makes room for the fields; boxes has their parts, or is nil.
func newBatch(fields []data.Field, boxes []data.View) batch {
	b := batch{part: boxes != nil}
	for i, f := range fields {
		v := data.View{Lo: make([]int, len(f.Shape)), Hi: f.Shape}
		if b.part {
			v = boxes[i]
		}
		n := 1
		for k := range v.Hi {
			n *= v.Hi[k] - v.Lo[k]
		}
		if v.Hi == nil { // the device does not read it
			b.views, b.bytes = append(b.views, data.View{}), append(b.bytes, nil)
			continue
		}
		var raw []byte
		// The 4 bytes of an element are little-endian on every machine that
		// plans are made for, as they are in files.
		if f.DType == dtype.I32 {
			v.I32 = make([]int32, n)
			raw = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v.I32))), 4*n)
		} else {
			v.F32 = make([]float32, n)
			raw = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v.F32))), 4*n)
		}
		b.views = append(b.views, v)
		b.bytes = append(b.bytes, raw)
	}
	return b
}

// send has all processes get a batch.
func (b *batch) send() error {
	for _, f := range b.share {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}
