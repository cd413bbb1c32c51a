// Package loader is where kinds of code meet what can run them.
//
// In: loaders, which register themselves by the kind of code they understand
// ("elf", "ir", "ptx"). Out: for a device of a plan, an engine that replays its
// programs. The invariant: an engine is captured once, so that a replay only
// replays; the result does not depend on the number of threads, nor on how the
// instructions are split into ranges.
//
// It imports runtime/program alone, so that a backend may register a loader
// (as backend/ref does for printed IR) without importing the rest of the
// runtime, and the runtime runs that code without importing the IR.
package loader

import (
	"fmt"
	"sort"
	"strings"

	"ptc/runtime/program"
)

// Request is one device whose programs are to be captured.
type Request struct {
	Plan   *program.Plan   // validated, and not to be changed
	Device *program.Device // of Plan
	Rank   int             // of Device.Ranks

	// Arena is the device's memory, of Device.Arena bytes, at a multiple of 64.
	// It outlives the engine and never moves. It is outside Go's heap where the
	// system allows that, as native code needs.
	Arena []byte

	Threads int // how many may run, at least 1

	// Fault is called, on a goroutine of its own, when the code makes the process
	// fault; it says what happened in the code's own terms. The process ends after
	// it. Nil: nobody asks. An engine whose code cannot fault does not call it.
	Fault func(prog int, what string)
}

// Engine replays the programs of one device.
type Engine interface {
	// Replay runs the instructions [from, to) of program number prog of
	// Device.Progs, none of which is a communication, and returns when all are
	// done. Calls do not overlap. An
	// engine of native code allocates nothing here.
	Replay(prog, from, to int) error

	// Close frees what the engine holds; it is called once, after the last
	// Replay.
	Close()
}

// Loader captures a device. Its error says in the user's terms why the code
// cannot run here.
type Loader func(Request) (Engine, error)

var loaders = map[string]Loader{}

// Register adds the loader of a kind of code. It is called from init only.
func Register(kind string, l Loader) {
	if _, dup := loaders[kind]; dup || l == nil {
		panic("loader: kind " + kind + " registered twice, or without a loader")
	}
	loaders[kind] = l
}

// Find is the loader of a kind, or an error that says which there are.
func Find(kind string) (Loader, error) {
	l, ok := loaders[kind]
	if !ok {
		return nil, fmt.Errorf("no loader for code of kind %q: this ptc runs %s", kind, strings.Join(Kinds(), ", "))
	}
	return l, nil
}

// Kinds lists the registered kinds in order of name.
func Kinds() []string {
	kinds := make([]string, 0, len(loaders))
	for k := range loaders {
		kinds = append(kinds, k)
	}
	sort.Strings(kinds)
	return kinds
}
