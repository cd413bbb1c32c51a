package exec

import (
	"fmt"
	"slices"

	"ptc/internal/dtype"
)

// Convert writes the elements of src as elements of another dtype: floats round
// to nearest even, through f32 where the target is f16 or bf16. Integers and
// booleans become floats; to be an i32 or a bool, a number must be one exactly.
// Both are little-endian and of equally many elements.
func Convert(dst []byte, to dtype.DType, src []byte, from dtype.DType) error {
	ds, ss := to.Size(), from.Size()
	if len(src)%ss != 0 || len(src)/ss*ds != len(dst) {
		return fmt.Errorf("%d bytes of %s and %d bytes of %s have different numbers of elements", len(src), from, len(dst), to)
	}
	if to == from {
		copy(dst, src)
		return nil
	}
	var buf [512]float64
	for n := len(src) / ss; n > 0; {
		k := min(n, len(buf))
		from.Decode(buf[:k], src)
		if i := slices.IndexFunc(buf[:k], func(v float64) bool { return !to.Holds(v) }); i >= 0 {
			return fmt.Errorf("%v has no value in %s", buf[i], to)
		}
		to.Encode(dst, buf[:k])
		dst, src, n = dst[k*ds:], src[k*ss:], n-k
	}
	return nil
}
