package nccl

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"ptc/internal/collective"
	"ptc/internal/dtype"
	"ptc/internal/foreign"
	"ptc/runtime/comm"
)

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
