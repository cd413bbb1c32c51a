package tensor

import (
	"encoding/binary"
	"math"

	"ptc/ir"
)

// Put writes the elements to b as memory holds them: little-endian, booleans
// as one byte. It panics if b is shorter than the tensor.
func (t *Tensor) Put(b []byte) {
	le := binary.LittleEndian
	switch t.Type.DType {
	case ir.Bool:
		for i, v := range t.Data {
			b[i] = 0
			if v != 0 {
				b[i] = 1
			}
		}
	case ir.I32:
		for i, v := range t.Data {
			le.PutUint32(b[4*i:], uint32(int32(v)))
		}
	case ir.F16:
		for i, v := range t.Data {
			le.PutUint16(b[2*i:], F32ToF16(float32(v)))
		}
	case ir.BF16:
		for i, v := range t.Data {
			le.PutUint16(b[2*i:], F32ToBF16(float32(v)))
		}
	case ir.F32:
		for i, v := range t.Data {
			le.PutUint32(b[4*i:], math.Float32bits(float32(v)))
		}
	case ir.F64:
		for i, v := range t.Data {
			le.PutUint64(b[8*i:], math.Float64bits(v))
		}
	}
}

// Get reads the elements from b, the inverse of [Tensor.Put].
func (t *Tensor) Get(b []byte) {
	le := binary.LittleEndian
	switch t.Type.DType {
	case ir.Bool:
		for i := range t.Data {
			t.Data[i] = float64(min(b[i], 1))
		}
	case ir.I32:
		for i := range t.Data {
			t.Data[i] = float64(int32(le.Uint32(b[4*i:])))
		}
	case ir.F16:
		for i := range t.Data {
			t.Data[i] = float64(F16ToF32(le.Uint16(b[2*i:])))
		}
	case ir.BF16:
		for i := range t.Data {
			t.Data[i] = float64(BF16ToF32(le.Uint16(b[2*i:])))
		}
	case ir.F32:
		for i := range t.Data {
			t.Data[i] = float64(math.Float32frombits(le.Uint32(b[4*i:])))
		}
	case ir.F64:
		for i := range t.Data {
			t.Data[i] = math.Float64frombits(le.Uint64(b[8*i:]))
		}
	}
}
