package comm

import "fmt"

// DType is the type of a buffer's elements; the values are those of
// program.Buffer.DType.
type DType uint8

// The dtypes. Bool is one byte, 0 or 1; its maximum is "or", and it has no sum.
const (
	F32 DType = iota
	F64
	BF16
	F16
	I32
	Bool
	numDTypes
)

var dtypes = [numDTypes]struct {
	name string
	size int
}{F32: {"f32", 4}, F64: {"f64", 8}, BF16: {"bf16", 2}, F16: {"f16", 2}, I32: {"i32", 4}, Bool: {"bool", 1}}

func (d DType) String() string {
	if d >= numDTypes {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return dtypes[d].name
}

// Size is the number of bytes of one element.
func (d DType) Size() int { return dtypes[d].size }

// ParseDType finds the dtype of that name.
func ParseDType(name string) (DType, error) {
	for d := range dtypes {
		if dtypes[d].name == name {
			return DType(d), nil
		}
	}
	return 0, invalid("there is no dtype %q", name)
}
