package device

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ptc/runtime/program"
)

// Opener makes the engine of a device, with its memories. Its error says in the
// user's terms why the code cannot run here; a *MemoryError, that there is no room.
type Opener func(Request) (Engine, error)

// Kind is what runs a kind of code.
type Kind struct {
	Open Opener

	// Fits says before any engine is opened why these devices of a plan cannot run
	// together here: which processor they need, or, as a *MemoryError, how much
	// memory. It may be nil.
	Fits func(plan *program.Plan, devices []*program.Device) error
}

// MemoryError says that there is no room for what a device needs.
type MemoryError struct {
	Msg string
	Err error // cause, may be nil
}

func (e *MemoryError) Error() string {
	if e.Err == nil {
		return e.Msg
	}
	return e.Msg + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *MemoryError) Unwrap() error { return e.Err }

var (
	kinds = map[string]Kind{}
	wrap  func(Opener) Opener // nil: engines are those that are registered
)

// Register adds what runs a kind of code ("elf", "ir"); the empty kind is that of
// devices without kernels. It is called from init only.
func Register(kind string, k Kind) {
	if _, dup := kinds[kind]; dup || k.Open == nil {
		panic("device: kind " + kind + " registered twice, or without an engine")
	}
	kinds[kind] = k
}

// Wrap puts engines that f makes of the registered ones into the place of those
// that are opened after it; nil ends that. It is for tests.
func Wrap(f func(Opener) Opener) { wrap = f }

// Find gives what runs a kind of code, or says which kinds there are.
func Find(kind string) (Kind, error) {
	k, ok := kinds[kind]
	if !ok {
		return k, fmt.Errorf("no engine for code of kind %q: this ptc runs %s", kind, strings.Join(slices.DeleteFunc(slices.Sorted(maps.Keys(kinds)), func(k string) bool { return k == "" }), ", "))
	}
	if wrap != nil {
		k.Open = wrap(k.Open)
	}
	return k, nil
}
