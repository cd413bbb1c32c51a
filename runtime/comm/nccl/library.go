package nccl

import (
	"fmt"
	"slices"
	"sync"
	"unsafe"

	"ptc/internal/foreign"
	"ptc/runtime/comm"
)

// name is the library's, as its installation has it.
const name = "libnccl.so.2"

// Install is what a user does when the library is missing.
const Install = "apt-get install libnccl2"

// oldest is the first version with communicators that do not block, as ncclGetVersion has it.
const oldest = 21400

// Lookup finds a function of the library by the name of its symbol.
type Lookup func(name string) (uintptr, error)

// library is addresses of the functions, which are those of nccl.h of NCCL 2.30.
type library struct {
	getVersion, getErrorString                             uintptr
	getUniqueID, initRank, finalize, destroy, abort, state uintptr
	groupStart, groupEnd                                   uintptr
	allReduce, reduceScatter, allGather, send, recv        uintptr
	memAlloc, memFree, register, deregister                uintptr // from NCCL 2.19 on; 0: it has none
	version32                                              int32
	version                                                int
}

func (l *library) symbols() []symbol {
	return []symbol{
		{"ncclGetVersion", &l.getVersion}, {"ncclGetErrorString", &l.getErrorString}, {"ncclGetUniqueId", &l.getUniqueID},
		{"ncclCommInitRankConfig", &l.initRank}, {"ncclCommFinalize", &l.finalize}, {"ncclCommDestroy", &l.destroy},
		{"ncclCommAbort", &l.abort}, {"ncclCommGetAsyncError", &l.state}, {"ncclGroupStart", &l.groupStart},
		{"ncclGroupEnd", &l.groupEnd}, {"ncclAllReduce", &l.allReduce}, {"ncclReduceScatter", &l.reduceScatter},
		{"ncclAllGather", &l.allGather}, {"ncclSend", &l.send}, {"ncclRecv", &l.recv}, {"ncclMemAlloc", &l.memAlloc},
		{"ncclMemFree", &l.memFree}, {"ncclCommRegister", &l.register}, {"ncclCommDeregister", &l.deregister},
	}
}

// symbol is a function and where its address goes.
type symbol struct {
	name string
	at   *uintptr
}

// optional are functions without which older libraries are served, too.
var optional = []string{"ncclMemAlloc", "ncclMemFree", "ncclCommRegister", "ncclCommDeregister"}

// opening is the library that all devices of the process share.
var opening struct {
	sync.Mutex
	lookup Lookup // nil: the machine's
	lib    *library
}

// Use puts other functions into the place of the machine's library, for what is opened after it;
// nil ends that. It is for tests.
func Use(l Lookup) {
	opening.Lock()
	defer opening.Unlock()
	opening.lookup, opening.lib = l, nil
}

// Available says why the library cannot be used here, or gives its name and version.
func Available() (string, error) {
	l, err := open()
	if err != nil {
		return "", err
	}
	return versionText(l.version), nil
}

// versionText is a version as ncclGetVersion has it, for people.
func versionText(v int) string {
	return fmt.Sprintf("NCCL %d.%d.%d", v/10000, v/100%100, v%100)
}

func open() (*library, error) {
	opening.Lock()
	defer opening.Unlock()
	if opening.lib != nil {
		return opening.lib, nil
	}
	lookup := opening.lookup
	if lookup == nil {
		var err error
		if lookup, err = load(); err != nil {
			return nil, err
		}
	}
	l := &library{}
	for _, s := range l.symbols() {
		at, err := lookup(s.name)
		if err != nil || at == 0 {
			if slices.Contains(optional, s.name) {
				continue
			}
			return nil, launchError(nil, "%s has no %s, which came with NCCL 2.14; install a newer one: %s", name, s.name, Install)
		}
		*s.at = at
	}
	if err := l.call("ncclGetVersion", l.getVersion, uintptr(unsafe.Pointer(&l.version32))); err != nil {
		return nil, launchError(err, "%s does not say its version", name)
	}
	l.version = int(l.version32)
	if l.version < oldest {
		return nil, launchError(nil, "%s is of version %d, and must be at least of %d; install a newer one: %s", name, l.version, oldest, Install)
	}
	opening.lib = l
	return l, nil
}

// load loads the library, once: loaded again, it is the same.
func load() (Lookup, error) {
	if err := foreign.Available(); err != nil {
		return nil, launchError(err, "%s cannot be loaded", name)
	}
	lib, err := foreign.Open(name, foreign.Now|foreign.Local)
	if err != nil {
		return nil, launchError(err, "%s cannot be loaded; install it with: %s", name, Install)
	}
	return func(name string) (uintptr, error) { return foreign.Symbol(lib, name) }, nil
}

func launchError(cause error, format string, args ...any) *comm.Error {
	return &comm.Error{Reason: comm.ReasonLaunch, Rank: -1, Msg: fmt.Sprintf(format, args...), Err: cause}
}
