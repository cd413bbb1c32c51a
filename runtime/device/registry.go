package device

import (
	"fmt"
	"slices"
	"strings"
)

// Opener makes the engine of a device, with its memories. Its error says in the
// user's terms why the code cannot run here; a *MemoryError, that there is no room.
type Opener func(Request) (Engine, error)

// MemoryError says that a memory of a device cannot be had.
type MemoryError struct {
	Msg string
	Err error // cause
}

func (e *MemoryError) Error() string { return e.Msg + ": " + e.Err.Error() }

// Unwrap gives the cause.
func (e *MemoryError) Unwrap() error { return e.Err }

var (
	openers = map[string]Opener{}
	wrap    func(Opener) Opener // nil: engines are those that are registered
)

// Register adds the engine of a kind of code ("elf", "ir"); the empty kind is that
// of devices without kernels. It is called from init only.
func Register(kind string, open Opener) {
	if _, dup := openers[kind]; dup || open == nil {
		panic("device: kind " + kind + " registered twice, or without an engine")
	}
	openers[kind] = open
}

// Wrap puts engines that f makes of the registered ones into the place of those
// that are opened after it; nil ends that. It is for tests.
func Wrap(f func(Opener) Opener) { wrap = f }

// Open makes an engine for a kind of code, or says which kinds there are.
func Open(kind string, r Request) (Engine, error) {
	open, ok := openers[kind]
	if !ok {
		return nil, fmt.Errorf("no engine for code of kind %q: this ptc runs %s", kind, strings.Join(Kinds(), ", "))
	}
	if wrap != nil {
		open = wrap(open)
	}
	return open(r)
}

// Kinds lists the registered kinds of code in order of name.
func Kinds() []string {
	var kinds []string
	for k := range openers {
		if k != "" {
			kinds = append(kinds, k)
		}
	}
	slices.Sort(kinds)
	return kinds
}
