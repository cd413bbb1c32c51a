package fakeblaslt

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/cuda/fakelib"
)

// Options are of the library. The zero value but for the driver is one of CUDA 12.4 with one algorithm
// that takes no time and no workspace.
type Options struct {
	Driver  *fakecuda.Driver
	Version int
	Missing []string // functions that it does not have
	Offers  []Offer  // its algorithms, in the order in which it offers them
	Refuses bool     // it supports no product
}

// Offer is an algorithm that there is for every product.
type Offer struct {
	Time      int64 // in instructions of warps
	Workspace int64 // bytes
	Hidden    bool  // it is offered whatever workspace there is
	Fails     int   // a status that its products give; 0: they are computed
}

// Statuses that functions give.
const (
	Success       = 0
	InvalidValue  = 7
	Failed        = 13
	NotSupported  = 15
	InternalError = 14
)

// Library is a library.
type Library struct {
	mu sync.Mutex
	o  Options
	fakelib.Handles
	fakelib.Record

	ordering sync.Mutex // apart: the driver runs products within calls of its own and of the library
	order    []string   // products as they ran
}

var current atomic.Pointer[Library]

// New makes a library, which takes the place of the one before.
func New(o Options) *Library {
	if o.Version == 0 {
		o.Version = 120405
	}
	if len(o.Offers) == 0 {
		o.Offers = []Offer{{}}
	}
	l := &Library{o: o, Handles: fakelib.NewHandles(0x7b0000)}
	current.Store(l)
	return l
}

// Lookup gives the address of a function.
func (l *Library) Lookup(name string) (uintptr, error) {
	return fakelib.Lookup(addresses(), l.o.Missing, name)
}

// Order is the products as they ran: the number of the algorithm, and rows, columns and depth.
func (l *Library) Order() []string {
	l.ordering.Lock()
	defer l.ordering.Unlock()
	return slices.Clone(l.order)
}

// Leaks are what was made and not freed, sorted.
func (l *Library) Leaks() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, o := range l.Objects() {
		out = append(out, fmt.Sprintf("%T", o))
	}
	slices.Sort(out)
	return out
}

// problem notes a mistake of the caller.
func (l *Library) problem(format string, args ...any) int {
	l.Problem(format, args...)
	return InvalidValue
}

// get is the object of a type with a handle; for what no handle is, a problem.
func get[T any](l *Library, handle uintptr) (o T, ok bool) {
	if o, ok = fakelib.Get[T](&l.Handles, handle); !ok {
		l.problem("there is no %T %#x", o, handle)
	}
	return o, ok
}

// function is one of the library's.
type function struct {
	name  string
	args  int
	frees bool // it does so even where it fails
	run   func(l *Library, a []uintptr) int
}

func functions() []function {
	return []function{
		{"cublasLtGetVersion", 0, false, func(l *Library, _ []uintptr) int { return l.o.Version }},
		{"cublasLtCreate", 1, false, made[handle]},
		{"cublasLtDestroy", 1, true, freed[*handle]},
		{"cublasLtMatmulDescCreate", 3, false, descCreate},
		{"cublasLtMatmulDescSetAttribute", 4, false, descSet},
		{"cublasLtMatmulDescDestroy", 1, true, freed[*desc]},
		{"cublasLtMatrixLayoutCreate", 5, false, layoutCreate},
		{"cublasLtMatrixLayoutSetAttribute", 4, false, layoutSet},
		{"cublasLtMatrixLayoutDestroy", 1, true, freed[*layout]},
		{"cublasLtMatmulPreferenceCreate", 1, false, made[prefer]},
		{"cublasLtMatmulPreferenceSetAttribute", 4, false, preferSet},
		{"cublasLtMatmulPreferenceDestroy", 1, true, freed[*prefer]},
		{"cublasLtMatmulAlgoGetHeuristic", 10, false, heuristic},
		{"cublasLtMatmul", 16, false, matmul},
	}
}

// addresses makes the C functions, once: a process has a limited number of them.
var addresses = sync.OnceValue(func() map[string]uintptr {
	out := map[string]uintptr{}
	for _, f := range functions() {
		out[f.name] = fakelib.Callback(f.args, f.enter)
	}
	return out
})

// enter is a call of the current library.
func (f *function) enter(args ...uintptr) uintptr {
	l := current.Load()
	l.mu.Lock()
	defer l.mu.Unlock()
	_, status := l.Count(f.name)
	if status != Success && !f.frees {
		return uintptr(status)
	}
	if r := f.run(l, args); status == Success {
		return uintptr(r)
	}
	return uintptr(status)
}
