package blaslt

import (
	"fmt"
	"sync"

	"ptc/internal/foreign"
)

// Lookup finds a function of the library by the name of its symbol.
type Lookup func(name string) (uintptr, error)

// functions are addresses of the library's functions.
type functions struct {
	create, destroy, getVersion            uintptr
	descCreate, descSet, descDestroy       uintptr
	layoutCreate, layoutSet, layoutDestroy uintptr
	preferCreate, preferSet, preferDestroy uintptr
	algoGetHeuristic, matmul               uintptr
}

// Library is the library, loaded.
type Library struct {
	functions
	Name    string
	Version int // 10000·major + 100·minor + patch
}

func (l *Library) String() string {
	return fmt.Sprintf("%s %d.%d", l.Name, l.Version/10000, l.Version%10000/100)
}

// oldest is the version from which the library is used: that of CUDA 12.
const oldest = 120000

// opening is the library that all engines of the process share.
var opening struct {
	sync.Mutex
	lookup  Lookup // nil: the machine's
	library *Library
}

// Use puts other functions into the place of the machine's library, for what is opened after it;
// nil ends that. It is for tests.
func Use(l Lookup) {
	opening.Lock()
	defer opening.Unlock()
	opening.lookup, opening.library = l, nil
}

// Open loads the library for a driver of a version of CUDA, 1000·major + 10·minor. The error says why
// there is none that can be used.
func Open(driver int) (*Library, error) {
	opening.Lock()
	defer opening.Unlock()
	if opening.library != nil {
		return opening.library, nil
	}
	if err := foreign.Many(); err != nil {
		return nil, fmt.Errorf("cuBLASLt cannot be called: %w", err)
	}
	name, lookup := "cuBLASLt", opening.lookup
	if lookup == nil {
		var err error
		if name, lookup, err = load(driver); err != nil {
			return nil, err
		}
	}
	l, err := bind(name, lookup)
	if err != nil {
		return nil, err
	}
	opening.library = l
	return l, nil
}

// names are those of libraries that a driver can serve, the newest first.
func names(driver int) []string {
	if driver >= 13000 {
		return []string{"libcublasLt.so.13", "libcublasLt.so.12"}
	}
	return []string{"libcublasLt.so.12"}
}

// load loads the machine's library, where the system's linker finds it.
func load(driver int) (string, Lookup, error) {
	var first error
	for _, name := range names(driver) {
		lib, err := foreign.Open(name, foreign.Now|foreign.Local)
		if err == nil {
			return name, func(symbol string) (uintptr, error) { return foreign.Symbol(lib, symbol) }, nil
		}
		if first == nil {
			first = fmt.Errorf("%s cannot be loaded: %w", name, err)
		}
	}
	return "", nil, first
}

// bind finds the functions, and looks whether the library is new enough.
func bind(name string, lookup Lookup) (*Library, error) {
	l := &Library{Name: name}
	for symbol, at := range map[string]*uintptr{
		"cublasLtCreate": &l.create, "cublasLtDestroy": &l.destroy, "cublasLtGetVersion": &l.getVersion,
		"cublasLtMatmulDescCreate": &l.descCreate, "cublasLtMatmulDescSetAttribute": &l.descSet, "cublasLtMatmulDescDestroy": &l.descDestroy,
		"cublasLtMatrixLayoutCreate": &l.layoutCreate, "cublasLtMatrixLayoutSetAttribute": &l.layoutSet, "cublasLtMatrixLayoutDestroy": &l.layoutDestroy,
		"cublasLtMatmulPreferenceCreate": &l.preferCreate, "cublasLtMatmulPreferenceSetAttribute": &l.preferSet, "cublasLtMatmulPreferenceDestroy": &l.preferDestroy,
		"cublasLtMatmulAlgoGetHeuristic": &l.algoGetHeuristic, "cublasLtMatmul": &l.matmul,
	} {
		*at, _ = lookup(symbol) // 0 where there is none
	}
	if l.missing() {
		return nil, fmt.Errorf("%s lacks functions of cuBLASLt 12; install a newer one", name)
	}
	if l.Version = int(foreign.Call(l.getVersion)); l.Version < oldest {
		return nil, fmt.Errorf("%s is version %d.%d, and is used from 12.0 on; install a newer one", name, l.Version/10000, l.Version%10000/100)
	}
	return l, nil
}

func (f *functions) missing() bool {
	for _, at := range []uintptr{f.create, f.destroy, f.getVersion, f.descCreate, f.descSet, f.descDestroy, f.layoutCreate, f.layoutSet,
		f.layoutDestroy, f.preferCreate, f.preferSet, f.preferDestroy, f.algoGetHeuristic, f.matmul} {
		if at == 0 {
			return true
		}
	}
	return false
}

// Error is a call of the library that failed.
type Error struct {
	Call   string // the function
	Status int
}

// statuses are names of what functions give (cublas_api.h of CUDA 12.4, cublasStatus_t).
var statuses = map[int]string{
	1: "NOT_INITIALIZED", 3: "ALLOC_FAILED", 7: "INVALID_VALUE", 8: "ARCH_MISMATCH", 11: "MAPPING_ERROR",
	13: "EXECUTION_FAILED", 14: "INTERNAL_ERROR", 15: "NOT_SUPPORTED", 16: "LICENSE_ERROR",
}

func (e *Error) Error() string {
	if name := statuses[e.Status]; name != "" {
		return fmt.Sprintf("%s gives CUBLAS_STATUS_%s", e.Call, name)
	}
	return fmt.Sprintf("%s gives error %d", e.Call, e.Status)
}

// call calls a function of the library. What pointers among its arguments point to does not move
// while the call lasts.
//
//go:uintptrescapes
func call(name string, fn uintptr, args ...uintptr) error {
	if r := foreign.CallMany(fn, args...); uint32(r) != 0 {
		return &Error{name, int(int32(r))}
	}
	return nil
}
