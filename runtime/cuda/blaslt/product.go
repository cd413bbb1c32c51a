package blaslt

import (
	"errors"
	"math/bits"
	"unsafe"

	"ptc/runtime/program"
)

// Constants of cublasLt.h, cublas_api.h and library_types.h of CUDA 12.4.
const (
	compute32F = 68 // CUBLAS_COMPUTE_32F

	typeF32, typeF16, typeBF16 = 0, 2, 14 // CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF

	descTransA, descTransB, descEpilogue, descBias = 3, 4, 7, 8 // CUBLASLT_MATMUL_DESC_…
	opT                                            = 1          // CUBLAS_OP_T
	epilogueBias                                   = 4          // CUBLASLT_EPILOGUE_BIAS

	layoutBatch, layoutStride = 5, 6 // CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, …_STRIDED_BATCH_OFFSET

	preferWorkspace, preferReduction, preferAlignA = 1, 3, 5 // CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, …; B, C and D follow A
	reductionCompute                               = 2       // CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE; no reduction is always allowed
)

// Algorithm is one of the library's for a product, as the library describes it.
type Algorithm struct {
	Config    [8]uint64 // cublasLtMatmulAlgo_t
	Workspace uint64    // bytes of memory that it needs
}

// result is cublasLtMatmulHeuristicResult_t.
type result struct {
	config    [8]uint64
	workspace uintptr
	state     int32
	waves     float32
	reserved  [4]int32
}

// Handle is the library on one GPU, that of the context which is current where it is made and used.
type Handle struct {
	l  *Library
	at uintptr
}

// New makes a handle.
func (l *Library) New() (*Handle, error) {
	h := &Handle{l: l}
	err := call(l.Create, uintptr(unsafe.Pointer(&h.at)))
	if err != nil {
		return nil, err
	}
	return h, nil
}

// Close frees what the handle holds. What is left to do about an error is nothing.
func (h *Handle) Close() {
	if h != nil && h.at != 0 {
		_ = call(h.l.Destroy, h.at)
		h.at = 0
	}
}

// Product is a product that the library knows: its descriptors.
type Product struct {
	l             *Library
	desc          uintptr
	a, b, c, d    uintptr // layouts of Right, Left, Add and Out; of Add, Out's where there is none
	added, biased bool
}

// Addresses are where the matrices of a product are in memory of the GPU; of Add and Bias where it has
// those.
type Addresses struct{ Left, Right, Add, Bias, Out uint64 }

// Describe makes the descriptors of a product.
func (l *Library) Describe(p *program.Product) (*Product, error) {
	x := &Product{l: l, added: p.Add != nil, biased: p.Bias != nil}
	if err := x.describe(p); err != nil {
		x.Close()
		return nil, err
	}
	return x, nil
}

func (x *Product) describe(p *program.Product) error {
	l := x.l
	if err := call(l.MatmulDescCreate, uintptr(unsafe.Pointer(&x.desc)), compute32F, typeF32); err != nil {
		return err
	}
	if p.Right.Transposed {
		if err := x.set(descTransA, opT); err != nil {
			return err
		}
	}
	if p.Left.Transposed {
		if err := x.set(descTransB, opT); err != nil {
			return err
		}
	}
	if x.biased {
		if err := x.set(descEpilogue, epilogueBias); err != nil {
			return err
		}
	}
	for _, m := range []struct {
		to         *uintptr
		at         *program.Matrices
		rows, cols int64
	}{{&x.a, &p.Right, p.K, p.N}, {&x.b, &p.Left, p.M, p.K}, {&x.c, p.Add, p.M, p.N}, {&x.d, &p.Out, p.M, p.N}} {
		if m.at == nil {
			continue
		}
		if err := l.layout(m.to, m.at, p.Batch, m.rows, m.cols); err != nil {
			return err
		}
	}
	return nil
}

// set sets an attribute of the description that has 32 bits.
func (x *Product) set(attribute uintptr, value int32) error {
	return call(x.l.MatmulDescSetAttribute, x.desc, attribute, uintptr(unsafe.Pointer(&value)), unsafe.Sizeof(value))
}

// layout is that of matrices of so many rows and columns, column by column: transposed.
func (l *Library) layout(to *uintptr, m *program.Matrices, batch, rows, cols int64) error {
	if m.Transposed {
		rows, cols = cols, rows
	}
	kind, err := typeOf(m.DType)
	if err != nil {
		return err
	}
	if err := call(l.MatrixLayoutCreate, uintptr(unsafe.Pointer(to)), kind, uintptr(cols), uintptr(rows), uintptr(m.Row)); err != nil || batch == 1 {
		return err
	}
	count, stride := int32(batch), m.Batch
	if err := call(l.MatrixLayoutSetAttribute, *to, layoutBatch, uintptr(unsafe.Pointer(&count)), unsafe.Sizeof(count)); err != nil {
		return err
	}
	return call(l.MatrixLayoutSetAttribute, *to, layoutStride, uintptr(unsafe.Pointer(&stride)), unsafe.Sizeof(stride))
}

func typeOf(dtype string) (uintptr, error) {
	switch dtype {
	case "f32":
		return typeF32, nil
	case "f16":
		return typeF16, nil
	case "bf16":
		return typeBF16, nil
	}
	return 0, errors.New("the library multiplies no " + dtype)
}

// Close frees the descriptors.
func (x *Product) Close() {
	for _, at := range []*uintptr{&x.a, &x.b, &x.c, &x.d} {
		if *at != 0 {
			_ = call(x.l.MatrixLayoutDestroy, *at)
			*at = 0
		}
	}
	if x.desc != 0 {
		_ = call(x.l.MatmulDescDestroy, x.desc)
		x.desc = 0
	}
}

// layoutC is that of what is added.
func (x *Product) layoutC() uintptr {
	if x.added {
		return x.c
	}
	return x.d
}

// bias says where the row is that is added, which the description holds.
func (x *Product) bias(at Addresses) error {
	if !x.biased {
		return nil
	}
	return call(x.l.MatmulDescSetAttribute, x.desc, descBias, uintptr(unsafe.Pointer(&at.Bias)), unsafe.Sizeof(at.Bias))
}

// Alignment is the largest power of two, up to 256, that an address is a multiple of.
func Alignment(at uint64) int { return 1 << min(8, bits.TrailingZeros64(at)) }

// Offers are the algorithms that the library has for a product at addresses, by its estimate the
// fastest first, of those that need no more than some bytes of workspace.
func (h *Handle) Offers(x *Product, at Addresses, workspace int64, most int) ([]Algorithm, error) {
	l := h.l
	if err := x.bias(at); err != nil {
		return nil, err
	}
	var prefer uintptr
	if err := call(l.MatmulPreferenceCreate, uintptr(unsafe.Pointer(&prefer))); err != nil {
		return nil, err
	}
	defer func() { _ = call(l.MatmulPreferenceDestroy, prefer) }()
	if err := l.prefer(prefer, x, at, workspace); err != nil {
		return nil, err
	}
	all, n := make([]result, most), int32(0)
	err := call(l.MatmulAlgoGetHeuristic, h.at, x.desc, x.a, x.b, x.layoutC(), x.d, prefer,
		uintptr(most), uintptr(unsafe.Pointer(unsafe.SliceData(all))), uintptr(unsafe.Pointer(&n)))
	if err != nil {
		return nil, err
	}
	var out []Algorithm
	for _, r := range all[:min(max(0, int(n)), most)] {
		if r.state == 0 {
			out = append(out, Algorithm{r.config, uint64(r.workspace)})
		}
	}
	return out, nil
}

// prefer says what algorithms may be.
func (l *Library) prefer(prefer uintptr, x *Product, at Addresses, workspace int64) error {
	bytes, scheme := uint64(workspace), uint32(reductionCompute)
	if err := call(l.MatmulPreferenceSetAttribute, prefer, preferWorkspace, uintptr(unsafe.Pointer(&bytes)), unsafe.Sizeof(bytes)); err != nil {
		return err
	}
	if err := call(l.MatmulPreferenceSetAttribute, prefer, preferReduction, uintptr(unsafe.Pointer(&scheme)), unsafe.Sizeof(scheme)); err != nil {
		return err
	}
	for i, m := range []uint64{at.Right, at.Left, x.addressC(at), at.Out} {
		align := uint32(Alignment(m))
		if err := call(l.MatmulPreferenceSetAttribute, prefer, preferAlignA+uintptr(i), uintptr(unsafe.Pointer(&align)), unsafe.Sizeof(align)); err != nil {
			return err
		}
	}
	return nil
}

func (x *Product) addressC(at Addresses) uint64 {
	if x.added {
		return at.Add
	}
	return at.Out
}

// Enqueue gives a stream of the driver the product, by an algorithm that was offered for addresses
// aligned as these, with the workspace that it needs.
func (h *Handle) Enqueue(x *Product, at Addresses, a *Algorithm, workspace uint64, stream uintptr) error {
	if err := x.bias(at); err != nil {
		return err
	}
	alpha, beta := float32(1), float32(0)
	if x.added {
		beta = 1
	}
	return call(h.l.Matmul, h.at, x.desc, uintptr(unsafe.Pointer(&alpha)), uintptr(at.Right), x.a, uintptr(at.Left), x.b,
		uintptr(unsafe.Pointer(&beta)), uintptr(x.addressC(at)), x.layoutC(), uintptr(at.Out), x.d,
		uintptr(unsafe.Pointer(&a.Config)), uintptr(workspace), uintptr(a.Workspace), stream)
}
