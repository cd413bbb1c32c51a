package exec

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"

	"github.com/x448/float16"

	"ptc/runtime/program"
)

var le = binary.LittleEndian

// Convert writes the elements of src as elements of another dtype: floats round
// to nearest even, through f32 where the target is f16 or bf16. Integers and
// booleans become floats; to be an i32 or a bool, a number must be one exactly.
// Both are little-endian and of equally many elements.
func Convert(dst []byte, to string, src []byte, from string) error {
	ds, ss := program.DTypeSize(to), program.DTypeSize(from)
	switch {
	case ds == 0 || ss == 0:
		return fmt.Errorf("cannot convert elements from %q to %q", from, to)
	case len(src)%ss != 0 || len(src)/ss*ds != len(dst):
		return fmt.Errorf("%d bytes of %s are not as many elements as %d bytes of %s", len(src), from, len(dst), to)
	case to == from:
		copy(dst, src)
		return nil
	}
	var buf [512]float64
	for n := len(src) / ss; n > 0; {
		k := min(n, len(buf))
		load(buf[:k], src, from)
		if err := exact(buf[:k], to); err != nil {
			return err
		}
		store(dst, to, buf[:k])
		dst, src, n = dst[k*ds:], src[k*ss:], n-k
	}
	return nil
}

// exact rejects numbers that dtype, an i32 or a bool, does not have.
func exact(x []float64, dtype string) error {
	for _, v := range x {
		switch {
		case dtype == "i32" && (v != math.Trunc(v) || v < math.MinInt32 || v > math.MaxInt32 || v != v):
			return fmt.Errorf("%v is not an i32", v)
		case dtype == "bool" && v != 0 && v != 1:
			return fmt.Errorf("%v is not a bool", v)
		}
	}
	return nil
}

// load reads len(dst) elements.
func load(dst []float64, src []byte, dtype string) {
	for i := range dst {
		switch dtype {
		case "f32":
			dst[i] = float64(math.Float32frombits(le.Uint32(src[4*i:])))
		case "f64":
			dst[i] = math.Float64frombits(le.Uint64(src[8*i:]))
		case "bf16":
			dst[i] = float64(math.Float32frombits(uint32(le.Uint16(src[2*i:])) << 16))
		case "f16":
			dst[i] = float64(float16.Frombits(le.Uint16(src[2*i:])).Float32())
		case "i32":
			dst[i] = float64(int32(le.Uint32(src[4*i:])))
		case "bool":
			dst[i] = 0
			if src[i] != 0 {
				dst[i] = 1
			}
		}
	}
}

// store writes src as elements, rounding floats; integers must be exact.
func store(dst []byte, dtype string, src []float64) {
	for i, x := range src {
		switch dtype {
		case "f32":
			le.PutUint32(dst[4*i:], math.Float32bits(float32(x)))
		case "f64":
			le.PutUint64(dst[8*i:], math.Float64bits(x))
		case "bf16":
			le.PutUint16(dst[2*i:], toBF16(float32(x)))
		case "f16":
			le.PutUint16(dst[2*i:], float16.Fromfloat32(float32(x)).Bits())
		case "i32":
			le.PutUint32(dst[4*i:], uint32(int32(x)))
		case "bool":
			dst[i] = byte(int(x))
		}
	}
}

// toBF16 rounds to nearest even; a NaN stays a quiet NaN.
func toBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// bytesOf is the memory of a slice of numbers.
func bytesOf(x []float32) []byte { return memoryOf(x) }

func memoryOf[T float32 | int32](x []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// aligned is memory of the host for any elements.
func aligned(n int64) []byte {
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), n)
}
