package fakenccl

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"ptc/runtime/cuda/fakecuda"
	"ptc/runtime/cuda/fakelib"
)

// Options are of the library. The zero value is NCCL 2.30.7.
type Options struct {
	Seed    uint64 // of how long calls are in progress; 0: for none
	Version int
	Missing []string // functions that it does not have
}

// Results that the library gives (nccl.h, ncclResult_t).
const (
	Success         = 0
	CUDAError       = 1
	SystemError     = 2
	InvalidArgument = 4
	InvalidUsage    = 5
	RemoteError     = 6
	InProgress      = 7
)

// Library is the library with its communicators. What is in it is guarded by the driver's lock.
type Library struct {
	o       Options
	drv     *fakecuda.Driver
	rng     *rand.Rand
	cliques map[[16]uint64]*clique
	members map[uintptr]*member
	groups  map[int]*group // by thread
	next    uintptr
	ids     uint64
	broken  int32 // what all communicators have come to
	blocks  map[place]block
	fakelib.Record
}

// group is what a thread has called between a start and its end.
type group struct {
	depth int
	calls []*issued
}

var current atomic.Pointer[Library]

// New makes a library on the GPUs of a driver, which takes the place of the one before.
func New(drv *fakecuda.Driver, o Options) *Library {
	if o.Version == 0 {
		o.Version = 23007
	}
	l := &Library{o: o, drv: drv, cliques: map[[16]uint64]*clique{}, members: map[uintptr]*member{}, groups: map[int]*group{}, next: 0x7c0000, blocks: map[place]block{}}
	if o.Seed != 0 {
		l.rng = rand.New(rand.NewPCG(o.Seed, 11))
	}
	current.Store(l)
	return l
}

// Lookup gives the address of a function.
func (l *Library) Lookup(name string) (uintptr, error) {
	return fakelib.Lookup(addresses(), l.o.Missing, name)
}

// Break lets all communicators come to a result, as where a member is gone.
func (l *Library) Break(result int) { l.drv.Use(func() { l.broken = int32(result) }) }

// Leaks are the communicators that were not ended, and the groups, sorted.
func (l *Library) Leaks() (out []string) {
	l.drv.Use(func() {
		for _, m := range l.members {
			out = append(out, fmt.Sprintf("the communicator of member %d of %d", m.rank, m.of.n))
		}
		for range l.blocks {
			out = append(out, "memory of the library")
		}
		for _, g := range l.groups {
			if g.depth > 0 {
				out = append(out, "a group without its end")
			}
		}
	})
	slices.Sort(out)
	return out
}

// function is one of the library's.
type function struct {
	name string
	args int
	run  func(l *Library, a []uintptr) int
}

func functions() []function {
	return []function{
		{"ncclGetVersion", 1, version},
		{"ncclGetUniqueId", 1, uniqueID},
		{"ncclCommFinalize", 1, finalize},
		{"ncclCommDestroy", 1, destroy},
		{"ncclCommAbort", 1, abort},
		{"ncclCommGetAsyncError", 2, asyncError},
		{"ncclGroupStart", 0, groupStart},
		{"ncclGroupEnd", 0, groupEnd},
		{"ncclAllReduce", 7, allReduce},
		{"ncclReduceScatter", 7, reduceScatter},
		{"ncclAllGather", 6, allGather},
		{"ncclSend", 6, send},
		{"ncclRecv", 6, recv},
		{"ncclMemAlloc", 2, memAlloc},
		{"ncclMemFree", 1, memFree},
		{"ncclCommRegister", 4, register},
		{"ncclCommDeregister", 2, deregister},
	}
}

// addresses makes the C functions, once: a process has a limited number of them.
var addresses = sync.OnceValue(func() map[string]uintptr {
	out := map[string]uintptr{
		"ncclGetErrorString":     fakelib.Callback(1, func(a ...uintptr) uintptr { return errorString(a[0]) }),
		"ncclCommInitRankConfig": initRankConfig(),
	}
	for _, f := range functions() {
		out[f.name] = fakelib.Callback(f.args, f.enter)
	}
	return out
})

// initRankConfig is the function with an argument of 128 bytes by value, as C compilers have it: on arm64 by its
// address, elsewhere on the stack, behind what is in six registers.
func initRankConfig() uintptr {
	f := &function{name: "ncclCommInitRankConfig", run: initRank}
	if runtime.GOARCH == "arm64" {
		return fakelib.Callback(5, func(a ...uintptr) uintptr {
			words := *fakelib.Pointer[[16]uint64](a[2])
			return f.enter(a[0], a[1], a[3], a[4], uintptr(unsafe.Pointer(&words)))
		})
	}
	return fakelib.Callback(6+16, func(a ...uintptr) uintptr {
		words := [16]uint64{}
		for i, w := range a[6:] {
			words[i] = uint64(w)
		}
		return f.enter(a[0], a[1], a[2], a[3], uintptr(unsafe.Pointer(&words)))
	})
}

// enter is a call of the current library.
//
//go:uintptrescapes
func (f *function) enter(args ...uintptr) uintptr {
	l := current.Load()
	r := 0
	l.drv.Use(func() {
		switch _, r = l.Count(f.name); {
		case r == Success:
			r = f.run(l, args)
		case f.name == "ncclGroupEnd": // the group has ended, without its calls
			delete(l.groups, fakelib.Thread())
		}
	})
	return uintptr(r)
}

var texts sync.Map // by result, what lives as long as the process

func errorString(result uintptr) uintptr {
	text, _ := texts.LoadOrStore(result, append(fmt.Appendf(nil, "the text of %d", result), 0))
	return uintptr(unsafe.Pointer(unsafe.SliceData(text.([]byte))))
}

func version(l *Library, a []uintptr) int {
	*fakelib.Pointer[int32](a[0]) = int32(l.o.Version)
	return Success
}

func uniqueID(l *Library, a []uintptr) int {
	l.ids++
	id := fakelib.Pointer[[16]uint64](a[0])
	for i := range id {
		id[i] = l.ids*0x9e3779b97f4a7c15 + uint64(i)
	}
	return Success
}
