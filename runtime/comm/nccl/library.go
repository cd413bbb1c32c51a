package nccl

import (
	"cmp"
	"fmt"
	"math"
	"runtime"
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

// library is the functions of nccl.h of NCCL 2.30. The optional ones came with NCCL 2.19.
type library struct {
	GetVersion, GetErrorString, GetUniqueId, CommInitRankConfig           foreign.Function
	CommFinalize, CommDestroy, CommAbort, CommGetAsyncError               foreign.Function
	GroupStart, GroupEnd, AllReduce, ReduceScatter, AllGather, Send, Recv foreign.Function
	MemAlloc, MemFree, CommRegister, CommDeregister                       foreign.Function `optional:""`
	version32                                                             int32
	version                                                               int
}

// opening is the library that all devices of the process share.
var opening foreign.Shared[library]

// Use replaces the machine's library, for what is opened later. Nil ends that. It is for tests.
func Use(find foreign.Lookup) { opening.Use(find) }

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

func open() (*library, error) { return opening.Get(bind) }

func bind(find foreign.Lookup) (*library, error) {
	if find == nil {
		if err := foreign.Available(); err != nil {
			return nil, comm.LaunchError(err, "%s does not load", name)
		}
		var err error
		if _, find, err = foreign.Load(foreign.Now|foreign.Local, name); err != nil {
			return nil, comm.LaunchError(err, "%s does not load; install it with: %s", name, Install)
		}
	}
	l := &library{}
	if missing := foreign.Find(foreign.Functions(l, "nccl"), find); missing != "" {
		return nil, comm.LaunchError(nil, "%s has no %s, which came with NCCL 2.14; install a newer one: %s", name, missing, Install)
	}
	if err := l.call(l.GetVersion, uintptr(unsafe.Pointer(&l.version32))); err != nil {
		return nil, comm.LaunchError(err, "%s does not return its version", name)
	}
	l.version = int(l.version32)
	if l.version < oldest {
		return nil, comm.LaunchError(nil, "%s has version %d, but ptc needs at least %d; install a newer one: %s", name, l.version, oldest, Install)
	}
	return l, nil
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
func (l *library) call(f foreign.Function, args ...uintptr) error {
	return l.result(f.Name, foreign.Call(f.At, args...))
}

// add is a call within a group, which is not done before the group's end, whatever is in progress.
//
//go:uintptrescapes
func (l *library) add(f foreign.Function, args ...uintptr) error {
	if err := l.call(f, args...); err != error(errInProgress) {
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
	return fmt.Sprintf("%s failed with error %d (%s)", e.call, e.code, e.text)
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
		return &failure{name, code, cmp.Or(foreign.Text(foreign.Call(l.GetErrorString.At, uintptr(uint32(code)))), "unknown")}
	}
}

// newID makes what the members of a communicator find one another by.
func (l *library) newID() ([]byte, error) {
	id := make([]byte, idBytes)
	err := l.call(l.GetUniqueId, uintptr(unsafe.Pointer(unsafe.SliceData(id))))
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
		return fmt.Errorf("a communicator has at most 2³¹-1 members, not %d", n)
	}
	c.config = config{size: unsafe.Sizeof(c.config), magic: configMagic, version: configVersion}
	// The identifier is the third argument, by value.
	r := foreign.CallValue(c.lib.CommInitRankConfig.At, 2, id, uintptr(unsafe.Pointer(&c.handle)), uintptr(n), uintptr(me), uintptr(unsafe.Pointer(&c.config)))
	runtime.KeepAlive(c)
	return c.lib.result(c.lib.CommInitRankConfig.Name, r)
}

// ask is the state of a communicator: nil, errInProgress or why it has failed.
func (c *communicator) ask() error {
	if err := c.lib.call(c.lib.CommGetAsyncError, c.handle, uintptr(unsafe.Pointer(&c.state))); err != nil {
		return err
	}
	return c.lib.result("NCCL", uintptr(uint32(c.state)))
}
