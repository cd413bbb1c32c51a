package nccl

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"ptc/internal/collective"
	"ptc/internal/dtype"
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

// Results that mean something to us (nccl.h of NCCL 2.30, ncclResult_t).
const (
	success    = 0
	inProgress = 7
)

// Types of elements and reductions (nccl.h of NCCL 2.30, ncclDataType_t and ncclRedOp_t).
const (
	typeInt8 = 0
	sum      = 0
	largest  = 2
)

var types = map[dtype.DType]uintptr{dtype.U8: 1, dtype.I32: 2, dtype.I64: 4, dtype.F16: 6, dtype.F32: 7, dtype.F64: 8, dtype.BF16: 9}

// reduction is how NCCL names elements and what is done with them, where it has that.
func reduction(op *comm.Op) (element, by uintptr, ok bool) {
	if op.Reduce == collective.Max {
		if op.DType == dtype.Bool { // of bytes 0 and 1
			return types[dtype.U8], largest, true
		}
		element, ok = types[op.DType]
		return element, largest, ok && op.DType.IsInt()
	}
	element, ok = types[op.DType]
	return element, sum, ok
}

// idBytes is the size of ncclUniqueId.
const idBytes = 128

// config is the head of ncclConfig_t, as NCCL 2.14 has it: later ones look at the version, and take
// their defaults for what it did not have. The last field is padding there.
type config struct {
	size     uintptr
	magic    uint32
	version  uint32
	blocking int32
	_        int32
}

const (
	configMagic   = 0xcafebeef
	configVersion = oldest
)

// call calls a function. What pointers among its arguments point to does not move
// while the call lasts.
//
//go:uintptrescapes
func (l *library) call(name string, fn uintptr, args ...uintptr) error {
	return l.result(name, foreign.Call(fn, args...))
}

// add is a call within a group, which is not done before the group's end, whatever is in progress.
//
//go:uintptrescapes
func (l *library) add(name string, fn uintptr, args ...uintptr) error {
	if err := l.result(name, foreign.Call(fn, args...)); err != error(errInProgress) {
		return err
	}
	return nil
}

// failure is a result that is not one of success.
type failure struct {
	call string
	code int32
	text string
}

func (e *failure) Error() string {
	return fmt.Sprintf("%s gives error %d (%s)", e.call, e.code, e.text)
}

// errInProgress is the result of a call whose end is to be waited for.
var errInProgress = &failure{code: inProgress, text: "in progress"}

func (l *library) result(name string, r uintptr) error {
	switch code := int32(uint32(r)); code {
	case success:
		return nil
	case inProgress:
		return errInProgress
	default:
		return &failure{name, code, l.text(code)}
	}
}

// text is what the library says of a result.
func (l *library) text(code int32) string {
	at := foreign.Call(l.getErrorString, uintptr(uint32(code)))
	if at == 0 {
		return "unknown"
	}
	var text []byte
	for len(text) < maxText {
		c := *(*byte)(foreign.Pointer(at + uintptr(len(text))))
		if c == 0 {
			break
		}
		text = append(text, c)
	}
	return string(text)
}

// maxText bounds how far a text of the library is read.
const maxText = 1024

// newID makes what the members of a communicator find one another by.
func (l *library) newID() ([]byte, error) {
	id := make([]byte, idBytes)
	err := l.call("ncclGetUniqueId", l.getUniqueID, uintptr(unsafe.Pointer(unsafe.SliceData(id))))
	return id, err
}

// communicator is one of a lane. The library writes to it, so that it is on the heap.
type communicator struct {
	lib    *library
	handle uintptr // 0: none
	state  int32
	config config
}

// connect begins to connect member me of n.
func (c *communicator) connect(n int, id []byte, me int) error {
	if n > math.MaxInt32 {
		return fmt.Errorf("a communicator cannot have %d members", n)
	}
	c.config = config{size: unsafe.Sizeof(c.config), magic: configMagic, version: configVersion}
	// The identifier is the third argument, by value.
	r := foreign.CallValue(c.lib.initRank, 2, id, uintptr(unsafe.Pointer(&c.handle)), uintptr(n), uintptr(me), uintptr(unsafe.Pointer(&c.config)))
	runtime.KeepAlive(c)
	return c.lib.result("ncclCommInitRankConfig", r)
}

// ask is the state of a communicator: nil, errInProgress or why it has failed.
func (c *communicator) ask() error {
	if err := c.lib.call("ncclCommGetAsyncError", c.lib.state, c.handle, uintptr(unsafe.Pointer(&c.state))); err != nil {
		return err
	}
	return c.lib.result("NCCL", uintptr(uint32(c.state)))
}
