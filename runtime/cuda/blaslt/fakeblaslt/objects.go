package fakeblaslt

import (
	"unsafe"

	"ptc/runtime/cuda/fakelib"
)

// handle is what cublasLtCreate makes.
type handle struct{}

// desc is a description of a product: its operations, and what is added.
type desc struct {
	transposed [2]bool
	biased     bool
	bias       uint64
}

// layout is a matrix, column by column.
type layout struct {
	kind       uint32
	rows, cols int
	ld         int
	batch      int
	stride     int
}

// prefer is what algorithms may be.
type prefer struct {
	workspace uint64
	reduction uint32
	align     [4]uint32
}

func made[T any](l *Library, a []uintptr) int {
	*fakelib.Pointer[uintptr](a[0]) = l.Handle(new(T))
	return Success
}

func freed[T any](l *Library, a []uintptr) int {
	if _, ok := get[T](l, a[0]); !ok {
		return InvalidValue
	}
	l.Drop(a[0])
	return Success
}

// value is an attribute of a type; false where its size is another one.
func value[T any](l *Library, at, size uintptr) (x T, ok bool) {
	if size != unsafe.Sizeof(x) || at == 0 {
		l.problem("an attribute of %d bytes; expected %d", size, unsafe.Sizeof(x))
		return x, false
	}
	return *fakelib.Pointer[T](at), true
}

// descCreate takes CUBLAS_COMPUTE_32F with a scale of CUDA_R_32F: what other computations round is not
// what plans say.
func descCreate(l *Library, a []uintptr) int {
	if uint32(a[1]) != 68 || uint32(a[2]) != 0 {
		return l.problem("a computation in %d with scales of %d", uint32(a[1]), uint32(a[2]))
	}
	*fakelib.Pointer[uintptr](a[0]) = l.Handle(&desc{})
	return Success
}

func descSet(l *Library, a []uintptr) int {
	d, ok := get[*desc](l, a[0])
	if !ok {
		return InvalidValue
	}
	if uint32(a[1]) == 8 { // CUBLASLT_MATMUL_DESC_BIAS_POINTER
		d.bias, ok = value[uint64](l, a[2], a[3])
		return status(ok)
	}
	x, ok := value[int32](l, a[2], a[3])
	switch attribute := uint32(a[1]); {
	case !ok:
		return InvalidValue
	case (attribute == 3 || attribute == 4) && (x == 0 || x == 1): // CUBLASLT_MATMUL_DESC_TRANSA, …_TRANSB
		d.transposed[attribute-3] = x == 1
	case attribute == 7 && (x == 1 || x == 4): // CUBLASLT_MATMUL_DESC_EPILOGUE: default or bias
		d.biased = x == 4
	default:
		return l.problem("attribute %d of a description is %d", attribute, x)
	}
	return Success
}

func status(ok bool) int {
	if ok {
		return Success
	}
	return InvalidValue
}

func layoutCreate(l *Library, a []uintptr) int {
	x := &layout{kind: uint32(a[1]), rows: int(a[2]), cols: int(a[3]), ld: int(a[4]), batch: 1}
	if kinds[x.kind] == 0 || x.rows < 1 || x.cols < 1 || x.ld < x.rows {
		return l.problem("a layout of type %d, %d by %d, %d apart", x.kind, x.rows, x.cols, x.ld)
	}
	*fakelib.Pointer[uintptr](a[0]) = l.Handle(x)
	return Success
}

func layoutSet(l *Library, a []uintptr) int {
	x, ok := get[*layout](l, a[0])
	if !ok {
		return InvalidValue
	}
	switch uint32(a[1]) {
	case 5: // CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT
		n, ok := value[int32](l, a[2], a[3])
		x.batch = int(n)
		return status(ok && n > 0)
	case 6: // CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
		n, ok := value[int64](l, a[2], a[3])
		x.stride = int(n)
		return status(ok && n >= 0)
	}
	return l.problem("attribute %d of a layout", uint32(a[1]))
}

func preferSet(l *Library, a []uintptr) int {
	p, ok := get[*prefer](l, a[0])
	if !ok {
		return InvalidValue
	}
	switch attribute := uint32(a[1]); attribute {
	case 1: // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES
		p.workspace, ok = value[uint64](l, a[2], a[3])
	case 3: // CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK
		p.reduction, ok = value[uint32](l, a[2], a[3])
	case 5, 6, 7, 8: // CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, …
		p.align[attribute-5], ok = value[uint32](l, a[2], a[3])
	default:
		return l.problem("attribute %d of a preference", attribute)
	}
	return status(ok)
}
