package blaslt

import (
	"fmt"

	"ptc/internal/foreign"
)

// functions are the library's functions, those of cublasLt.h of CUDA 12.
type functions struct {
	Create, Destroy, GetVersion                                                   foreign.Function
	MatmulDescCreate, MatmulDescSetAttribute, MatmulDescDestroy                   foreign.Function
	MatrixLayoutCreate, MatrixLayoutSetAttribute, MatrixLayoutDestroy             foreign.Function
	MatmulPreferenceCreate, MatmulPreferenceSetAttribute, MatmulPreferenceDestroy foreign.Function
	MatmulAlgoGetHeuristic, Matmul                                                foreign.Function
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
var opening foreign.Shared[Library]

// Use replaces the machine's library, for what is opened later. Nil ends that. It is for tests.
func Use(find foreign.Lookup) { opening.Use(find) }

// Open loads the library for a driver of a version of CUDA, 1000·major + 10·minor. The error says why
// there is none that can be used.
func Open(driver int) (*Library, error) {
	return opening.Get(func(find foreign.Lookup) (*Library, error) {
		if err := foreign.Many(); err != nil {
			return nil, fmt.Errorf("cuBLASLt cannot be called: %w", err)
		}
		if find != nil {
			return bind("cuBLASLt", find)
		}
		all := names(driver)
		name, find, err := foreign.Load(foreign.Now|foreign.Local, all...)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be loaded: %w", all[0], err)
		}
		return bind(name, find)
	})
}

// names are those of libraries that a driver can serve, the newest first.
func names(driver int) []string {
	if driver >= 13000 {
		return []string{"libcublasLt.so.13", "libcublasLt.so.12"}
	}
	return []string{"libcublasLt.so.12"}
}

// bind finds the functions, and looks whether the library is new enough.
func bind(name string, find foreign.Lookup) (*Library, error) {
	l := &Library{Name: name}
	if foreign.Find(foreign.Functions(&l.functions, "cublasLt"), find) != "" {
		return nil, fmt.Errorf("%s lacks functions of cuBLASLt 12; install a newer one", name)
	}
	if l.Version = int(foreign.Call(l.GetVersion.At)); l.Version < oldest {
		return nil, fmt.Errorf("%s is version %d.%d, and is used from 12.0 on; install a newer one", name, l.Version/10000, l.Version%10000/100)
	}
	return l, nil
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
func call(f foreign.Function, args ...uintptr) error {
	if r := foreign.CallMany(f.At, args...); uint32(r) != 0 {
		return &Error{f.Name, int(int32(r))}
	}
	return nil
}
