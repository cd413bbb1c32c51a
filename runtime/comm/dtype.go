package comm

import "ptc/internal/dtype"

// DType is the type of a buffer's elements, by the name that program.Buffer.DType
// has for it.
type DType = dtype.DType

// The dtypes of [Op]. Bool is one byte, 0 or 1; its
// maximum is "or", and it has no sum.
const (
	Bool = dtype.Bool
	I32  = dtype.I32
	F16  = dtype.F16
	BF16 = dtype.BF16
	F32  = dtype.F32
	F64  = dtype.F64
)

// ParseDType finds the dtype of that name.
func ParseDType(name string) (DType, error) {
	d, ok := dtype.Parse(name)
	if !ok {
		return d, invalid("there is no dtype %q", name)
	}
	return d, nil
}
